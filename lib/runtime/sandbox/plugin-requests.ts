import type { CallFacts } from "../base/instance.ts";
import { messageOf, RuntimeFault } from "../guest/fault.ts";
import type { Frame } from "../guest/frames.ts";
import { parseJson, serialiseResult } from "../guest/json.ts";
import type { PluginPort } from "../guest/plugin-port.ts";
import type { Channel } from "./channel.ts";
import { text } from "./frame-fields.ts";
import type { OpenCalls } from "./open-calls.ts";

/** Most open requests of one process to services. */
const MAX_REQUESTS = 256;
const MAX_TARGET_CHARACTERS = 512;
const MAX_METHOD_CHARACTERS = 256;

/** Answers a sandboxed plugin's requests to the runtime: frames of the type `request`. */
export class PluginRequests {
  readonly #channel: Channel;
  readonly #calls: OpenCalls;
  readonly #port: PluginPort<CallFacts>;
  #open = 0;

  constructor(channel: Channel, calls: OpenCalls, port: PluginPort<CallFacts>) {
    this.#channel = channel;
    this.#calls = calls;
    this.#port = port;
  }

  async answer({ header, body }: Frame): Promise<void> {
    const id = typeof header["id"] === "number" ? header["id"] : null;
    const refuse = ({ code, message }: RuntimeFault): void =>
      this.#channel.send({ t: "answer", id, ok: false, code, message });
    if (this.#open >= MAX_REQUESTS) {
      if (this.#channel.isNoisy()) return;
      return refuse(new RuntimeFault("service_unavailable", `${MAX_REQUESTS} requests are open already.`));
    }
    this.#open++;
    try {
      const parameters = parseJson(body);
      if (!Array.isArray(parameters)) throw new RuntimeFault("bad_request", "The parameters are not a list.");
      const target = text(header["target"], MAX_TARGET_CHARACTERS);
      const method = text(header["method"], MAX_METHOD_CHARACTERS);
      const result = await this.#port.request(target, method, parameters, this.#calls.find(header["call"]));
      this.#channel.send({ t: "answer", id, ok: true }, serialiseResult(result ?? null));
    } catch (error) {
      refuse(error instanceof RuntimeFault ? error : new RuntimeFault("service_unavailable", messageOf(error)));
    } finally {
      this.#open--;
    }
  }
}
