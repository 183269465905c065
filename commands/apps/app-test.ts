import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { Command, Option } from "clipanion";
import type { AppTestEvent } from "../../lib/apps/events.ts";
import { asSealiftError } from "../../lib/contract/errors.ts";
import { appTest } from "../../lib/options/apps.ts";
import type { Layer } from "../../lib/options/layers.ts";
import { DEFAULT_FILE } from "../../lib/options/options-file.ts";
import type { Layout } from "../../lib/releases/layout.ts";
import { counted } from "../../lib/support/counted.ts";
import { interruptible, withOptions } from "../shell/base.ts";
import { leftOutLines } from "../shell/output/left-out.ts";

/** Lines of output that are shown of an application that failed. */
const LAST_LINES = 20;
/** Most characters of such a line. */
const MAX_LINE = 2_000;

export class AppTest extends withOptions(appTest) {
  static override paths = [["app", "test"]];
  static override usage = Command.Usage({
    category: "Applications",
    description: "Run an application once, as a host would",
    details: `
      Copies what a publication with these options and the project's \`sealift.yaml\` would pack, gives it handed-over sockets or ports and an environment of its own, migrates, starts
      it, asks for its health by \`app.yaml\` for as long as a deployment does, and ends it by its signal. Its settings
      are those of \`.env\` in its folder, which is never packed, or of \`.env.template\`.

      Each step is one line (an event with \`--json\`). When one fails, the command says why, shows the last lines that the
      application wrote, and ends with 1. Nothing of it stays behind.
    `,
    examples: [
      ["In the application's folder", "$0 app test"],
      ["One of a project", "$0 app test apps/web --env-file test.env"],
    ],
  });

  folder = Option.String({ required: false, name: "FOLDER" });

  /** Returns the options that the project is published with, as far as they are a file's. */
  protected override async fileLayer(): Promise<Layer | undefined> {
    const { projectAround } = await import("../../lib/agent/applications/trial-source.ts");
    const project = projectAround(resolve(this.folder ?? "."));
    return super.fileLayer(project !== undefined && existsSync(join(project, DEFAULT_FILE)) ? project : undefined);
  }

  override async run(): Promise<number> {
    const [{ trialPlace }, { trialSource }, { runTrial }, { sizeText }] = await Promise.all([
      import("../../lib/agent/applications/trial-place.ts"),
      import("../../lib/agent/applications/trial-source.ts"),
      import("./trial-run.ts"),
      import("../../lib/support/size-text.ts"),
    ]);
    using interrupt = interruptible();
    const { signal } = interrupt;
    const source = trialSource(resolve(this.folder ?? "."), this.options);
    const { id, app } = source;
    const user = process.getuid?.() === 0 ? (this.options.user ?? "nobody") : this.options.user;
    await using place = await trialPlace(source, { envFile: this.options.envFile, user, signal });
    for (const note of place.notes) this.note(`note: ${note}`);
    for (const line of leftOutLines(place.leftOut)) this.note(line);
    const emit = (event: AppTestEvent): void => {
      if (this.json) this.print.event(event);
      else this.print.line(lineOf(event, sizeText));
    };
    emit({ event: "trial.packed", id, files: place.files, bytes: place.bytes });
    try {
      await runTrial(id, app, place, { emit, signal });
    } catch (thrown) {
      signal.throwIfAborted();
      const output = await lastOutput(place.layout, id);
      if (!this.json && output.length > 0) this.print.text(["the last lines of its output:", ...output].join("\n  "));
      return this.fail(asSealiftError(thrown), { id, output });
    }
    return this.done({ id });
  }
}

/** Returns the last lines that an application has written itself. */
async function lastOutput(layout: Layout, id: string): Promise<string[]> {
  const [{ isRemark }, { applicationLog }, { readRotatedLog }] = await Promise.all([
    import("../../lib/apps/log-file.ts"),
    import("../../lib/releases/applications.ts"),
    import("../../lib/support/rotated-log.ts"),
  ]);
  const lines: string[] = [];
  const onLine = (line: string): void => void lines.push(line);
  await readRotatedLog(applicationLog(layout, id), { lines: 10 * LAST_LINES, maxCharacters: MAX_LINE, onLine });
  return lines.filter((line) => !isRemark(line)).slice(-LAST_LINES);
}

function lineOf(event: AppTestEvent, sizeText: (bytes: number) => string): string {
  const line = (step: string, text: string): string => `${step.padEnd(9)} ${text}`;
  switch (event.event) {
    case "trial.packed":
      return line("packed", `${event.id}: ${counted(event.files, "file")}, ${sizeText(event.bytes)}`);
    case "trial.migrated":
      return line("migrated", `in ${inSeconds(event.duration_ms)}`);
    case "trial.started": {
      const addresses = Object.entries(event.addresses).map(([name, at]) => `, ${name} at ${at}`);
      return line("started", `as process ${event.pid}, user ${event.user}${addresses.join("")}`);
    }
    case "trial.answered":
      return line("answered", `${answererOf(event.url)} after ${inSeconds(event.duration_ms)}`);
    case "trial.listens":
      return line("listens", `on ${event.message}`);
    case "trial.stayed_up":
      return line("stayed up", `for ${inSeconds(event.duration_ms)}`);
    case "trial.ended":
      return line("ended", `well, after ${inSeconds(event.duration_ms)}`);
    case "trial.stopped":
      return line("stopped", `${inSeconds(event.duration_ms)} after ${event.signal}`);
  }
}

const inSeconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

const answererOf = (url: string | null): string => (url === null ? "health.command" : `GET ${url}`);
