/** Events in the order of their times; simultaneous ones in the order of adding. */
export class Schedule<Event> {
  readonly #events: { at: number; event: Event }[] = [];

  add(at: number, event: Event): void {
    let [low, high] = [0, this.#events.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      // The earliest is at the end, where it is taken.
      if (this.#events[middle]!.at > at) low = middle + 1;
      else high = middle;
    }
    this.#events.splice(low, 0, { at, event });
  }

  next(): { at: number; event: Event } | undefined {
    return this.#events.pop();
  }
}
