import * as z from "zod";
import { later } from "../contract/later.ts";
import { HEADERS } from "../contract/surfaces/headers.ts";
import { baseUrl } from "../contract/surfaces/paths.ts";
import { segment } from "../contract/surfaces/segment.ts";
import { type Transport } from "./http.ts";
import { call } from "./json-request.ts";

export interface RuntimeClientOptions extends Transport {
  /** Root URL of the runtime, for example `http://127.0.0.1:8000`. */
  runtimeUrl: string;
  pluginKey: string;
}

const acknowledged = later(() => z.looseObject({ status: z.string() }));
const pluginStatus = later(() =>
  z.looseObject({
    name: z.string(),
    state: z.enum(["loaded", "idle", "error"]),
    release: z.string().nullish(),
    error: z.string().nullish(),
  }),
);
const statusAnswer = later(() => z.looseObject({ plugins: z.array(pluginStatus) }));
const healthAnswer = later(() =>
  z.looseObject({
    status: z.string(),
    checks: z.record(z.string(), z.looseObject({ status: z.string(), message: z.string().nullish() })).default({}),
  }),
);

/** Client of the management routes of surface C. @throws DeploymentError; AuthenticationError for a wrong key */
export class RuntimeClient {
  readonly #options: RuntimeClientOptions;
  readonly #base: string;

  constructor(options: RuntimeClientOptions) {
    this.#options = options;
    this.#base = `${baseUrl(options.runtimeUrl)}/plugin/ipc`;
  }

  async load(plugin: string): Promise<void> {
    await this.#send("POST", `/${segment(plugin)}/load`, acknowledged);
  }

  async reload(plugin: string): Promise<void> {
    await this.#send("POST", `/${segment(plugin)}/reload`, acknowledged);
  }

  async unload(plugin: string): Promise<void> {
    await this.#send("DELETE", `/${segment(plugin)}/unload`, acknowledged);
  }

  status(): Promise<z.output<typeof statusAnswer>> {
    return this.#send("GET", "/status", statusAnswer);
  }

  health(): Promise<z.output<typeof healthAnswer>> {
    return this.#send("GET", "/health", healthAnswer);
  }

  #send<T extends z.ZodType>(method: "GET" | "POST" | "DELETE", path: string, schema: T): Promise<z.output<T>> {
    const { pluginKey } = this.#options;
    return call(
      {
        operation: "runtime",
        method,
        url: this.#base + path,
        credentials: { [HEADERS.pluginKey]: pluginKey },
        secrets: [pluginKey],
      },
      schema,
      this.#options,
    );
  }
}
