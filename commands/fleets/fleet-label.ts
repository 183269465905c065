import { Command, Option } from "clipanion";
import { usageError } from "../../lib/contract/errors.ts";
import { fleetLabel, labelsOf } from "../../lib/options/labels.ts";
import { managed } from "../hub/managed.ts";
import { withOptions } from "../shell/base.ts";

export class FleetLabel extends withOptions(fleetLabel) {
  static override paths = [["fleet", "label"]];
  static override usage = Command.Usage({
    category: "Hosts",
    description: "Give a host labels at the hub, in place of its own",
    details: `
      Rollouts choose hosts by labels. A host names its own with \`--label\`; those that are given here beat them, until
      \`--reset\`.
    `,
    examples: [["Make it a canary", "$0 fleet label Harbour web-1 env=canary"]],
  });

  target = Option.String({ name: "TARGET", required: true });
  host = Option.String({ name: "HOST", required: true });
  labels = Option.Rest({ name: "NAME=VALUE" });

  override async run(): Promise<number> {
    const { reset } = this.options;
    if (reset === this.labels.length > 0) throw usageError("usage", "Give labels such as env=prod, or --reset.");
    const labels = reset ? null : labelsOf(this.labels);
    const { client, idOf } = await managed(this.options);
    const params = { id: await idOf(this.target), host_id: this.host };
    await client.labelHost({ params, body: { labels } });
    this.note(reset ? `${this.host} has its own labels again.` : `${this.host} has ${this.labels.join(", ")}.`);
    return this.done({ target: this.target, host_id: this.host, labels });
  }
}
