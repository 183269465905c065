import { spawn } from "node:child_process";
import * as net from "node:net";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { usageError } from "../contract/errors.ts";
import type { Addresses } from "../contract/files/launch.ts";
import { hostAndPort } from "../contract/files/socket-address.ts";
import { isAnswered } from "../support/network/is-answered.ts";
import { ownProcess } from "../support/one-file.ts";
import { ServeFault } from "./serve-fault.ts";
import { otherHolders } from "./socket-holders.ts";

interface Kept {
  name: string;
  at: string;
  socket: net.BoundSocket;
}

/**
 * Sockets of one application, which stay open while it restarts: connections wait in them meanwhile. Nothing is
 * accepted here.
 */
export class KeptSockets implements Disposable {
  #kept: Kept[] = [];

  get names(): string[] {
    return this.#kept.map(({ name }) => name);
  }

  /** Descriptors in this process, for a child to inherit from its descriptor 3 on. */
  get descriptors(): number[] {
    return this.#kept.map(({ socket }) => socket.fd());
  }

  /**
   * Opens these sockets in their order, keeping open ones, and closes others. One that another process has got hold of
   * is opened anew: an application may have passed it on.
   *
   * @throws ServeFault `port_taken`
   */
  async open(wanted: Addresses): Promise<void> {
    const old = this.#kept;
    const find = (name: string, at: string) => old.find((one) => one.name === name && one.at === at);
    const holders = await otherHolders(this.descriptors);
    const remaining = holders.length > 0 ? [] : Object.entries(wanted).flatMap(([name, at]) => find(name, at) ?? []);
    for (const one of old) if (!remaining.includes(one)) one.socket.close();
    this.#kept = remaining;
    await this.#openOthers(wanted, remaining).catch((error: unknown) => {
      const { code, message } = error as ServeFault;
      throw holders.length > 0 && code === "port_taken"
        ? new ServeFault("port_taken", `${message.slice(0, -1)}: process ${holders.join(", ")}.`, { cause: error })
        : error;
    });
  }

  async #openOthers(wanted: Addresses, remaining: readonly Kept[]): Promise<void> {
    const names = new Set(remaining.map(({ name }) => name));
    const fresh: Kept[] = [];
    try {
      for (const [name, at] of Object.entries(wanted))
        if (!names.has(name)) fresh.push({ name, at, socket: bound(at) });
      if (fresh.length > 0) await listenOn(fresh);
    } catch (error) {
      for (const { socket } of fresh) socket.close();
      throw error;
    }
    this.#kept = Object.keys(wanted).map((name) => [...remaining, ...fresh].find((one) => one.name === name)!);
  }

  [Symbol.dispose](): void {
    for (const { socket } of this.#kept) socket.close();
    this.#kept = [];
  }
}

/** Requires a Node.js that can keep a socket without accepting from it. @throws UsageError `usage` */
export function requireBoundSockets(): void {
  if ((net as Partial<typeof net>).BoundSocket !== undefined) return;
  throw usageError("usage", `Node.js ${process.versions.node} cannot hand sockets over.`, {
    hint: "Use Node.js 24.19 or newer, or 26.",
  });
}

const taken = (at: string, cause?: unknown): ServeFault =>
  new ServeFault("port_taken", `Another program listens on ${at}.`, { cause });

function bound(at: string): net.BoundSocket {
  try {
    return new net.BoundSocket(hostAndPort(at));
  } catch (error) {
    throw socketFault(at, error);
  }
}

function socketFault(at: string, error: unknown): ServeFault {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "EADDRINUSE") return taken(at, error);
  const why =
    code === "EACCES" ? "this user may not" : code === "EADDRNOTAVAIL" ? "it is not of this machine" : message;
  return new ServeFault("settings_invalid", `The address ${at} cannot be used: ${why}.`, { cause: error });
}

/** Makes bound sockets take connections. @throws ServeFault */
async function listenOn(sockets: readonly Kept[]): Promise<void> {
  const file = fileURLToPath(new URL(`./listening-process${extname(fileURLToPath(import.meta.url))}`, import.meta.url));
  const { execArgv, script } = ownProcess([], file);
  const child = spawn(process.execPath, [...execArgv, script, String(sockets.length)], {
    env: {},
    stdio: ["ignore", "ignore", "pipe", ...sockets.map(({ socket }) => socket.fd())],
  });
  let said = "";
  child.stderr!.on("data", (chunk: Buffer) => (said += chunk.toString("latin1")));
  const [code] = await new Promise<[number | null]>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve([code]));
  });
  if (code === 0) return;
  const error = Object.assign(new Error(said.trim().slice(-200)), { code: said.trim() });
  throw socketFault(sockets.map(({ at }) => at).join(", "), error);
}

/** Requires that nobody listens on an address that an application binds itself. @throws ServeFault `port_taken` */
export async function requireFree(at: string): Promise<void> {
  if (await isAnswered(hostAndPort(at))) throw taken(at);
}
