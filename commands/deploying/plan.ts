import { Command, Option } from "clipanion";
import { usageError } from "../../lib/contract/errors.ts";
import { plan, planCheck } from "../../lib/options/plan.ts";
import { YAML_LIMITS } from "../../lib/support/documents/limits.ts";
import { readFault, readTextFile } from "../../lib/support/files.ts";
import { withOptions } from "../shell/base.ts";
import { projectIdOf } from "./project-id.ts";

export class PlanInit extends withOptions(plan) {
  static override paths = [["plan", "init"]];
  static override usage = Command.Usage({
    category: "Deploying",
    description: "Write an install plan to start from",
    details: "NAME is a slug, or for a project its id or name. It may say its kind, as in `service:harbour-clock`.",
    examples: [
      ["For a plugin of the marketplace", "$0 plan init tide-table --out install.yaml"],
      ["For a service", "$0 plan init harbour-clock --kind service --out clock.yaml"],
      [
        "For a project, with all that its source tree has",
        "$0 plan init Harbour --kind project --out ./source/deployment/install.yaml",
      ],
    ],
  });

  called = Option.String({ name: "NAME", required: true });

  override async run(): Promise<number> {
    const [{ writeFile }, { dirname }, { makeFolder }, { itemsOfSource, starterPlan }] = await Promise.all([
      import("node:fs/promises"),
      import("node:path"),
      import("../../lib/support/files.ts"),
      import("../../lib/agent/starters.ts"),
    ]);
    const { supervised, out } = this.options;
    const { kind, name } = this.#target();
    const slug = kind === "project" ? await projectIdOf(name, this.options) : await slugOf(kind, name);
    const section = kind === "service" ? "extensions" : "plugins";
    const items = kind === "project" ? itemsOfSource(out) : [{ section, id: slug } as const];
    const text = starterPlan({ slug, items, supervised });
    if (kind === "project") await makeFolder(dirname(out));
    await writeFile(out, text, { flag: "wx" }).catch((error: NodeJS.ErrnoException) => {
      throw usageError(
        "usage",
        error.code === "EEXIST" ? `${out} exists already.` : `${out} cannot be written: ${error.message}.`,
        { hint: "Name another file with --out." },
      );
    });
    this.note(`Wrote ${out}.`);
    return this.done({ file: out });
  }

  /** Takes the kind from NAME if it has one. @throws UsageError `usage` when `--kind` contradicts it */
  #target(): { kind: Kind; name: string } {
    const { kind } = this.options;
    const [, named, rest] = /^(plugin|service|project):(.+)$/s.exec(this.called) ?? [];
    if (named === undefined || rest === undefined) return { kind, name: this.called };
    if (kind !== "plugin" && kind !== named)
      throw usageError("usage", `${this.called} is a ${named}, and --kind says ${kind}.`);
    return { kind: named as Kind, name: rest };
  }
}

type Kind = PlanInit["options"]["kind"];

/** Checks a slug. @throws UsageError `usage` for a name that no plugin or service can have */
async function slugOf(kind: Kind, name: string): Promise<string> {
  const { slug } = await import("../../lib/contract/identifiers.ts");
  const parsed = slug.safeParse(name);
  if (parsed.success) return parsed.data;
  throw usageError("usage", `${JSON.stringify(name)} is not a ${kind}'s slug: ${parsed.error.issues[0]!.message}.`, {
    hint: "`sealift marketplace search` finds slugs; for a project give --kind project.",
  });
}

export class PlanValidate extends withOptions(planCheck) {
  static override paths = [["plan", "validate"]];
  static override usage = Command.Usage({
    category: "Deploying",
    description: "Check an install plan and show the order of its steps",
    details: "With `--slug` it is checked as `deploy-marketplace` checks it; without, only what it says of itself.",
    examples: [["Check a plan", "$0 plan validate install.yaml --slug tide-table"]],
  });

  file = Option.String({ name: "FILE", required: true });

  override async run(): Promise<number> {
    const [{ orderPlan, unnoticed }, { parsePlan }, { scopeOf }] = await Promise.all([
      import("../../lib/agent/base/plan.ts"),
      import("../../lib/agent/base/documents.ts"),
      import("../../lib/agent/starters.ts"),
    ]);
    const text = await readTextFile(this.file, YAML_LIMITS.maxBytes).catch((error: Error) => {
      throw usageError("usage", `${this.file} cannot be read: ${readFault(error)}.`, {
        hint: "`sealift plan init NAME` writes a plan to start from.",
      });
    });
    const { slug, kind } = this.options;
    const plan = parsePlan(text, this.file, "local");
    const ordered = orderPlan(plan, scopeOf(plan, slug, kind), "local");
    const phases = { "before the switch": [...ordered.fill, ...ordered.stop], "after the switch": ordered.after };
    if (!this.json) {
      for (const [phase, steps] of Object.entries(phases)) {
        if (steps.length > 0)
          this.print.line(`${phase}: ${steps.map(({ id, action }) => `${id} (${action})`).join(", ")}`);
      }
    }
    const warning = unnoticed(ordered);
    if (warning !== undefined) this.warn(warning);
    const ids = (steps: readonly { id: string }[]): string[] => steps.map(({ id }) => id);
    return this.done({
      fill: ids(ordered.fill),
      stop: ids(ordered.stop),
      after: ids(ordered.after),
      warning: warning ?? null,
    });
  }
}
