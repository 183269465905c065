import { Command, Option } from "clipanion";
import { asSealiftError, deploymentError, usageError } from "../../lib/contract/errors.ts";
import { interruptible, SealiftCommand } from "../shell/base.ts";

const HUB = "http://127.0.0.1:8787/readyz";
const TIMEOUT_MS = 5000;

export class Health extends SealiftCommand {
  static override paths = [["health"]];
  static override usage = Command.Usage({
    category: "Operating",
    description: "Ask a service once whether it can serve",
    details: `
      For health checks of containers, which have no curl. Ends with 0 when the address answers 200 within 5 seconds,
      and with 75 when it does not. Without an address it asks \`${HUB}\`.
    `,
    examples: [
      ["The hub of this container", "$0 health"],
      ["A mirror", "$0 health http://127.0.0.1:8788/healthz"],
      ["A runtime", "$0 health http://127.0.0.1:8000/healthz"],
    ],
  });

  url = Option.String({ required: false, name: "URL" });

  override async run(): Promise<number> {
    const url = this.url ?? HUB;
    if (!/^https?:$/.test(URL.parse(url)?.protocol ?? ""))
      throw usageError("usage", `${JSON.stringify(url)} is not an http or https URL.`, { hint: `Such as ${HUB}.` });
    const { send } = await import("../../lib/client/http.ts");
    using interrupt = interruptible();
    const transport = { timeoutMs: TIMEOUT_MS, signal: interrupt.signal };
    const answer = await send({ operation: "health", method: "GET", url }, transport).catch((error: unknown) => {
      const { code, message } = asSealiftError(error);
      throw deploymentError(code, message, { cause: error, hint: "Check the address, and that the service runs." });
    });
    answer.body.on("error", () => {}).resume();
    if (answer.status === 200) return this.done({ url });
    throw deploymentError("hub_unavailable", `${url} answered ${answer.status}, not 200.`, {
      status: answer.status,
      hint: "The log of the service tells why.",
    });
  }
}
