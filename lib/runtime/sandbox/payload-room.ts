/**
 * Room of one process for payloads of calls that have not ended. Callers without room wait in turn. A payload larger
 * than the whole room is sent alone.
 */
export class PayloadRoom {
  /** Most bytes. */
  readonly #most: number;
  readonly #waiting = new Map<string, { size: number; send: () => void }>();
  readonly #sent = new Map<string, number>();
  #waitingBytes = 0;
  #sentBytes = 0;

  /** @param most bytes that the process may have at once */
  constructor(most: number) {
    this.#most = most;
  }

  /** Bytes that the process has. */
  get sentBytes(): number {
    return this.#sentBytes;
  }

  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  get waiting(): string[] {
    return [...this.#waiting.keys()];
  }

  /** Sends a payload at once, or with `sendWaiting` when there is room. */
  add(id: string, size: number, send: () => void): void {
    if (this.#waiting.size === 0 && this.#hasRoomFor(size)) return this.#send(id, size, send);
    this.#waiting.set(id, { size, send });
    this.#waitingBytes += size;
  }

  /** Makes room: a call has ended. */
  remove(id: string): void {
    const waited = this.#waiting.get(id);
    this.#waitingBytes -= waited?.size ?? 0;
    this.#sentBytes -= this.#sent.get(id) ?? 0;
    this.#waiting.delete(id);
    this.#sent.delete(id);
  }

  /** Sends waiting payloads that now have room. */
  sendWaiting(): void {
    for (const [id, { size, send }] of this.#waiting) {
      if (!this.#hasRoomFor(size)) return;
      this.#waiting.delete(id);
      this.#waitingBytes -= size;
      this.#send(id, size, send);
    }
  }

  #send(id: string, size: number, send: () => void): void {
    this.#sent.set(id, size);
    this.#sentBytes += size;
    send();
  }

  #hasRoomFor(size: number): boolean {
    return this.#sentBytes === 0 || this.#sentBytes + size <= this.#most;
  }
}
