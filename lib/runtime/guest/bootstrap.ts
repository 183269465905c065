import { Socket } from "node:net";
import { pathToFileURL } from "node:url";
import { channelLog } from "./channel-log.ts";
import { type CallScope, ContextFactory, type GuestFacts } from "./context.ts";
import { askHealth, type LoadedPlugin, readPlugin } from "./definition.ts";
import { faultOfAction, messageOf, RequestFault, RuntimeFault, stackOf } from "./fault.ts";
import { encodeFrame, type Frame, FrameReader, frameWriter } from "./frames.ts";
import { MAX_RESULT_BYTES, parseJson, serialiseResult } from "./json.ts";
import { addonRefusal, lockDown } from "./lockdown.ts";
import { MemoryWatch } from "./memory-watch.ts";
import { explainFetch } from "./network-advice.ts";
import type { PluginPort } from "./plugin-port.ts";
import { routesOfRouter } from "./router.ts";
import { GuestRoute, routeKey, runRoute } from "./routes.ts";
import { installSdkResolution } from "./sdk-resolution.ts";
import { reportUses } from "./uses.ts";
import { openWayOut } from "./way-out.ts";
import { replaceProc } from "./without-proc.ts";

/**
 * Main module of a sandbox's process: locks the process down, loads one plugin, and serves calls that arrive in frames
 * on file descriptor 3. The plugin shares this process, so nothing here protects the runtime, which distrusts every
 * frame.
 */

/** First frame that the runtime sends to a process. */
export interface InitFrame {
  facts: GuestFacts;
  /** Real path of the entry point. */
  entry: string;
  /** Whether this instance replaces an older one. */
  replaces: boolean;
  /** Whether the network is reached through the runtime's proxy. */
  proxied: boolean;
  /** Whether to report what the plugin does that a sandbox is refused. */
  audited: boolean;
  /** Bytes available to the heap and the Buffers of the plugin. */
  roomBytes: number;
}

const CHANNEL = 3;
const READ_BYTES = 64 * 1024;
const MAX_STACK_CHARACTERS = 8192;
const MAX_DESCRIBED_CHARACTERS = 512 * 1024;

// Tests that run without the permission model also skip its other protections, so that the wall is tested alone.
if (process.permission as unknown) lockDown();
installSdkResolution();
replaceProc();
// Stacks of compiled plugins refer to lines of the sources.
process.setSourceMapsEnabled(true);

// Kept before the plugin can replace it.
const exit = process.exit.bind(process);
const memory = new MemoryWatch();
const reader = new FrameReader();
/** All reads share one buffer: one for each would be garbage outside of V8's heap, which is collected late. */
const onread = {
  buffer: Buffer.allocUnsafeSlow(READ_BYTES),
  callback: (length: number, buffer: Uint8Array): boolean => {
    memory.look();
    for (const frame of reader.push(buffer.subarray(0, length) as Buffer)) receive(frame);
    return true;
  },
};
const channel = new Socket({ fd: CHANNEL, readable: true, writable: true, onread });
// The first reply of a turn is sent at once: the next call of it may block the loop.
const write = frameWriter(channel, () => false);
const send = (header: { t: string; [key: string]: unknown }, body?: string | Uint8Array): void => {
  write(encodeFrame(header, body));
};

// The runtime is gone: a sandbox never outlives it.
channel.on("close", () => exit(0));
channel.on("error", () => exit(0));

/** Call that runs here, by the id that the runtime assigned. */
class GuestCall implements CallScope {
  readonly id: string;
  readonly requestId: string | undefined;
  readonly traceparent: string | undefined;
  readonly #controller = new AbortController();

  constructor({ id, requestId, traceparent }: Frame["header"]) {
    this.id = String(id);
    this.requestId = typeof requestId === "string" ? requestId : undefined;
    this.traceparent = typeof traceparent === "string" ? traceparent : undefined;
  }

  signal(): AbortSignal {
    return this.#controller.signal;
  }

  abort(reason: Error): void {
    this.#controller.abort(reason);
  }
}

type Scope = GuestCall | GuestRoute;

const calls = new Map<string, Scope>();
const routes = new Map<string, GuestRoute>();
const requests = new Map<number, PromiseWithResolvers<unknown>>();
let lastRequest = 0;
let plugin: LoadedPlugin | undefined;
let contexts: ContextFactory<Scope> | undefined;
let definitions: ReadonlyMap<string, LoadedPlugin["routes"][number]> = new Map();

const port: PluginPort<Scope> = {
  async request(target, method, parameters, call) {
    const body = serialiseResult(parameters);
    if (body.length > MAX_RESULT_BYTES) {
      throw new RuntimeFault("result_too_large", "The request's parameters are too large.");
    }
    const id = ++lastRequest;
    const answer = Promise.withResolvers<unknown>();
    requests.set(id, answer);
    send({ t: "request", id, target, method, call: call?.id }, body);
    return answer.promise;
  },
};

const log = channelLog(channel, send);

async function initialise({ facts, entry, replaces, proxied, audited, roomBytes }: InitFrame): Promise<void> {
  try {
    // The declared variables, and none of those the process was started with.
    for (const name of Object.keys(process.env)) delete process.env[name];
    Object.assign(process.env, facts.env);
    memory.room = roomBytes;
    if (audited) reportUses((use) => send({ t: "used", ...use }));
    if (proxied) openWayOut();
    explainFetch();
    contexts = new ContextFactory(facts, port, log);
    plugin = await readPlugin((await import(pathToFileURL(entry).href)) as Record<string, unknown>);
    await contexts.configure(plugin);
    await plugin.onLoad?.(contexts.base);
    if (replaces) await plugin.onReload?.(contexts.base);
    plugin.routes = [...plugin.routes, ...(await routesOfRouter(plugin.router))];
    definitions = new Map(plugin.routes.map((route) => [routeKey(route), route]));
    send({ t: "ready", actions: [...plugin.actions.keys()] }, described(plugin));
  } catch (error) {
    const code = error instanceof RuntimeFault ? error.code : "load_failed";
    // Loaded on failure only, to save memory in plugins that do load.
    const { describeLoadError } = await import("./syntax-error.ts");
    const said = describeLoadError(error, messageOf(error), process.cwd());
    const refused = addonRefusal();
    const message = refused === undefined || said.startsWith(refused) ? said : `${refused} The plugin said: ${said}`;
    send({ t: "failed", code, message: message.slice(0, 4096) });
  }
}

/**
 * Returns the routes, and the actions as the runtime shows them, as JSON. Leaves out what is too large, or not JSON.
 */
function described({ actions, routes: declared }: LoadedPlugin): string {
  const facts = [...actions].map(([name, { description, payload }]) => [name, { description, payload }] as const);
  const served = declared.map(({ method, path, permissions }) => ({
    methods: ([] as string[]).concat(method),
    path,
    permissions,
  }));
  try {
    const text = JSON.stringify({ actions: Object.fromEntries(facts), routes: served });
    if (text.length <= MAX_DESCRIBED_CHARACTERS) return text;
  } catch {
    // The schema of a payload is not JSON.
  }
  return JSON.stringify({ routes: served });
}

async function answerRoute(frame: Frame): Promise<void> {
  if (plugin === undefined || contexts === undefined) return;
  const route = new GuestRoute(frame, send);
  calls.set(route.id, route);
  routes.set(route.id, route);
  const definition = definitions.get(String(frame.header["route"]));
  await runRoute(route, definition, contexts.forCall(route), send);
  calls.delete(route.id);
  routes.delete(route.id);
}

async function runCall({ header, body }: Frame): Promise<void> {
  const call = new GuestCall(header);
  const { id } = call;
  // Tells the runtime that the loop has come this far, before the action may block it.
  if (header["ack"] === 1) write(encodeFrame({ t: "begun", id }), true);
  calls.set(id, call);
  try {
    const action = plugin?.actions.get(String(header["action"]));
    if (action === undefined || contexts === undefined)
      throw new RuntimeFault("action_not_found", "There is no such action.");
    const context = contexts.forCall(call);
    const payload = body === "" ? undefined : parseJson(body);
    const checked: unknown = action.check === undefined ? payload : await action.check(payload);
    const result = serialiseResult(await action.run(checked, context));
    send({ t: "reply", id, ok: true }, result);
  } catch (error) {
    const fault = faultOfAction(error);
    const stack = stackOf(fault)?.slice(0, MAX_STACK_CHARACTERS);
    send({ t: "reply", id, ok: false, code: fault.code, message: fault.message.slice(0, 8192), stack });
  } finally {
    calls.delete(id);
  }
}

async function reportHealth(id: unknown): Promise<void> {
  if (plugin === undefined || contexts === undefined) return;
  send({ t: "health", id, ...(await askHealth(plugin, contexts.base)) });
}

function settleRequest({ header, body }: Frame): void {
  const id = Number(header["id"]);
  const answer = requests.get(id);
  requests.delete(id);
  if (header["ok"] === true) answer?.resolve(body === "" ? undefined : parseJson(body));
  else answer?.reject(new RequestFault(header["code"] as "internal", String(header["message"])));
}

async function stop(): Promise<void> {
  contexts?.unload();
  try {
    if (contexts) await plugin?.onUnload?.(contexts.base);
  } catch (error) {
    log("error", `onUnload failed: ${messageOf(error)}`, undefined);
  }
  channel.end(encodeFrame({ t: "stopped" }), () => exit(0));
}

function receive(frame: Frame): void {
  const { header } = frame;
  switch (header.t) {
    case "init":
      void initialise(header as unknown as InitFrame);
      break;
    case "call":
      void runCall(frame);
      break;
    case "cancel": {
      const id = String(header["id"]);
      const late = new RuntimeFault("timed_out", "The call took longer than the plugin's time-out.");
      const gone = new RuntimeFault("timed_out", "The client has gone.");
      calls.get(id)?.abort(header["gone"] === true ? gone : late);
      send({ t: "cancelled", id });
      break;
    }
    case "route":
      void answerRoute(frame);
      break;
    case "body":
      routes.get(String(header["id"]))?.take(frame.bytes ?? Buffer.alloc(0));
      break;
    case "ended":
      routes.get(String(header["id"]))?.ended();
      break;
    case "passed":
      routes.get(String(header["id"]))?.passed(header["bytes"]);
      break;
    case "ping":
      send({ t: "pong" });
      break;
    case "health":
      void reportHealth(header["id"]);
      break;
    case "answer":
      settleRequest(frame);
      break;
    case "event":
      contexts?.listeners.deliver(String(header["event"]), parseJson(frame.body), String(header["source"]));
      break;
    case "pressure":
      memory.relieve();
      break;
    case "stop":
      void stop();
      break;
  }
}

// An uncaught error leaves the plugin in an unknown state: report it, then end.
const crash = (error: unknown): void => {
  channel.end(encodeFrame({ t: "crash", message: messageOf(error).slice(0, 4096) }), () => exit(70));
};
process.on("uncaughtException", crash);
process.on("unhandledRejection", crash);

channel.resume();
