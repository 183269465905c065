import { Command, Option } from "clipanion";
import { usageError } from "../../lib/contract/errors.ts";
import { SealiftCommand } from "../shell/base.ts";

export class PlanInit extends SealiftCommand {
  static override paths = [["plan", "init"]];
  static override usage = Command.Usage({
    category: "Deploying",
    description: "Write an install plan to start from",
    examples: [
      ["For a plugin of the marketplace", "$0 plan init tide-table --out install.yaml"],
      ["For a service", "$0 plan init harbour-clock --kind service --out clock.yaml"],
    ],
  });

  slug = Option.String({ name: "SLUG", required: true });
  kind = Option.String("--kind", "plugin", { description: "plugin or service (default: plugin)" });
  supervised = Option.Boolean("--supervised", false, { description: "Restart and check it after the switch" });
  out = Option.String("--out", "install.yaml", { description: "File to write (default: install.yaml)" });

  override async run(): Promise<number> {
    const [{ writeFile }, { starterPlan }] = await Promise.all([
      import("node:fs/promises"),
      import("../../lib/agent/starter-plan.ts"),
    ]);
    if (this.kind !== "plugin" && this.kind !== "service") throw usageError("usage", "--kind is plugin or service.");
    const text = starterPlan({ slug: this.slug, kind: this.kind, supervised: this.supervised });
    await writeFile(this.out, text, { flag: "wx" }).catch((error: NodeJS.ErrnoException) => {
      throw usageError(
        "usage",
        error.code === "EEXIST" ? `${this.out} exists already.` : `${this.out} cannot be written: ${error.message}.`,
      );
    });
    this.note(`Wrote ${this.out}.`);
    return this.done({ file: this.out });
  }
}

export class PlanValidate extends SealiftCommand {
  static override paths = [["plan", "validate"]];
  static override usage = Command.Usage({
    category: "Deploying",
    description: "Check an install plan and show the order of its steps",
    details: "With `--slug` it is checked as `deploy-marketplace` checks it; without, only what it says of itself.",
    examples: [["Check a plan", "$0 plan validate install.yaml --slug tide-table"]],
  });

  file = Option.String({ name: "FILE", required: true });
  slug = Option.String("--slug", { description: "The plugin or service that it is for" });
  kind = Option.String("--kind", "plugin", { description: "plugin or service (default: plugin)" });

  override async run(): Promise<number> {
    const [{ readFile }, { orderPlan, parsePlan }, { scopeOf }] = await Promise.all([
      import("node:fs/promises"),
      import("../../lib/agent/deployment/plan.ts"),
      import("../../lib/agent/starter-plan.ts"),
    ]);
    const text = await readFile(this.file, "utf8").catch((error: Error) => {
      throw usageError("usage", `${this.file} cannot be read: ${error.message}.`);
    });
    const plan = parsePlan(text, this.file, "local");
    const ordered = orderPlan(plan, scopeOf(plan, this.slug, this.kind === "service" ? "service" : "plugin"), "local");
    const phases = { "before the switch": [...ordered.fill, ...ordered.stop], "after the switch": ordered.after };
    if (!this.json) {
      for (const [phase, steps] of Object.entries(phases)) {
        if (steps.length > 0)
          this.output.line(`${phase}: ${steps.map(({ id, action }) => `${id} (${action})`).join(", ")}`);
      }
    }
    const ids = (steps: readonly { id: string }[]): string[] => steps.map(({ id }) => id);
    return this.done({ fill: ids(ordered.fill), stop: ids(ordered.stop), after: ids(ordered.after) });
  }
}
