import { get } from "node:http";

/** Answers that a program outside has heard since it was asked last. */
export interface Heard {
  answers: Record<string, number>;
  /** Connections that nobody took. */
  refused: number;
  /** Requests that ended without an answer after they were taken. */
  broken: number;
}

const EVERY_MS = 50;

/** Asks an application for its version, twenty times a second, each time by a connection of its own. */
export class Asker {
  readonly #port: number;
  readonly #timer: NodeJS.Timeout;
  #heard: Heard = { answers: {}, refused: 0, broken: 0 };

  constructor(port: number) {
    this.#port = port;
    this.#timer = setInterval(() => this.#ask(), EVERY_MS);
  }

  #ask(): void {
    const heard = this.#heard;
    const request = get({ host: "127.0.0.1", port: this.#port, agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (piece: string) => (text += piece));
      response.on("end", () => (heard.answers[text] = (heard.answers[text] ?? 0) + 1));
      response.on("error", () => heard.broken++);
    });
    request.on("error", ({ code }: NodeJS.ErrnoException) =>
      code === "ECONNREFUSED" ? heard.refused++ : heard.broken++,
    );
  }

  /** Returns what was heard since the last call. */
  take(): Heard {
    const heard = this.#heard;
    this.#heard = { answers: {}, refused: 0, broken: 0 };
    return heard;
  }

  end(): void {
    clearInterval(this.#timer);
  }
}
