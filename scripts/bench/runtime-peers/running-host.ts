import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import autocannon from "autocannon";
import { KEY } from "../runtime-project.ts";

const SECONDS = Number(process.env.BENCH_PEER_SECONDS ?? 5);
const CONNECTIONS = 16;
const headers = { "x-plugin-key": KEY, "content-type": "application/json" };
export const SMALL = JSON.stringify({ payload: { text: "hello", numbers: [1, 2, 3] } });
export const LARGE = JSON.stringify({ payload: { text: "x".repeat(1_000_000) } });

/** Program that serves plugins. */
export interface HostProgram {
  /** Words after `node`. */
  words: readonly string[];
  /** Whether it is a `runtime-serve`. */
  isRuntime: boolean;
}

/** Running host: a runtime or a peer. */
export class RunningHost implements AsyncDisposable {
  readonly url: string;
  readonly isRuntime: boolean;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, url: string, isRuntime: boolean) {
    this.#child = child;
    this.url = url;
    this.isRuntime = isRuntime;
  }

  /** Starts a host in a project root. @throws Error when it does not become ready */
  static async start({ words, isRuntime }: HostProgram, root: string): Promise<RunningHost> {
    // As the shipped unit starts it: without the flag, the program starts Node a second time to have it.
    const env = { ...process.env, ...(isRuntime && { NODE_OPTIONS: "--disable-sigusr1" }) };
    const child = spawn(process.execPath, words, { cwd: root, env, stdio: ["ignore", "pipe", "ignore"] });
    const [line] = (await Promise.race([once(child.stdout, "data"), once(child, "exit")])) as [Buffer | number];
    const url = /^ready (\S+)/.exec(String(line))?.[1];
    if (url === undefined) throw new Error(`${words.join(" ")} did not become ready`);
    return new RunningHost(child, `${url}/plugin/ipc`, isRuntime);
  }

  get pid(): number {
    return this.#child.pid!;
  }

  /** Posts a request over a connection of its own: a kept one may be closed in the same moment. */
  async ask(path: string, body = SMALL): Promise<number> {
    const asked = request(`${this.url}/${path}`, { method: "POST", headers, agent: false }).end(body);
    const [answer] = (await once(asked, "response")) as [IncomingMessage];
    await once(answer.resume(), "end");
    return answer.statusCode!;
  }

  /** Calls an action over 16 connections. @returns the good answers, and the failures */
  async load(body: string, seconds = SECONDS): Promise<{ good: number; failed: number }> {
    const [url, connections] = [`${this.url}/echo/echo`, CONNECTIONS];
    const result = await autocannon({ url, method: "POST", headers, body, connections, duration: seconds });
    return { good: result["2xx"], failed: result.non2xx + result.errors };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGTERM");
    await ended;
  }
}
