import { randomUUID } from "node:crypto";
import { Command, Option } from "clipanion";
import type { EmitWatch } from "../../lib/agent/watch/events.ts";
import type { Watch } from "../../lib/agent/watch/watch.ts";
import { EXIT, worstExit } from "../../lib/contract/codes.ts";
import { asSealiftError, usageError } from "../../lib/contract/errors.ts";
import { fileLayer, type Layer } from "../../lib/options/layers.ts";
import { variableOf } from "../../lib/options/option.ts";
import { watch } from "../../lib/options/watch.ts";
import type { WatchEntry, WatchFile } from "../../lib/options/watch-file.ts";
import { counted } from "../../lib/support/counted.ts";
import type { Notifier } from "../../lib/support/systemd/notify.ts";
import { interruptible, withOptions } from "../shell/base.ts";
import { loadForProduction, terminalOf } from "../shell/output/terminal.ts";
import type { WatchedDefinition } from "./watch-targets.ts";

export class WatchCommand extends withOptions(watch) {
  static override service = "sealift-agent";
  static override paths = [["watch"], ["deploy-watch"]];
  static override usage = Command.Usage({
    category: "Deploying",
    description: "Follow the latest version of many targets, with a dashboard",
    details: `
      Targets are \`plugin:SLUG\`, \`service:SLUG\` or \`project:ID\`, from the arguments or from \`--config
      watch.yaml\`, where each may have its own project root, credentials, plan, supervisor and interval. Every change
      of \`latest\` is deployed; versions that were rolled back or failed a check wait for a newer one or for \`sealift
      watch retry\`. A hub that is away only makes the pauses longer.

      On a terminal a dashboard is shown (\`?\` lists its keys), elsewhere lines, and events with \`--json\`. \`--once\`
      checks every target once, deploys what is due, and ends with the worst exit code. SIGHUP reads the configuration
      again.
    `,
    examples: [
      ["Follow one plugin", "$0 watch plugin:tide-table --install-plan install.yaml --project-root /srv/app"],
      ["Many targets", "$0 watch --config /etc/sealift/watch.yaml"],
      ["From cron", "$0 watch --config watch.yaml --once"],
    ],
  });

  targets = Option.Rest({ name: "TARGET" });

  #file: WatchFile | undefined;
  /** Random name of this watch, by which a clone of this machine with the same key is noticed. */
  readonly #instance = randomUUID();

  /** Uses watch.yaml's options for all targets instead of sealift.yaml, which may name it. */
  protected override async fileLayer(): Promise<Layer | undefined> {
    const given = this.given("watch-config") ?? (process.env[variableOf("watch-config")] || undefined);
    const options = given === undefined ? await super.fileLayer() : undefined;
    const file = given ?? options?.get("watch-config");
    if (typeof file !== "string") return options;
    const { readWatchFile } = await import("../../lib/options/watch-file.ts");
    this.#file = await readWatchFile(file);
    return fileLayer(this.#file.shared, file);
  }

  override async run(): Promise<number> {
    const definitions = await this.#definitions();
    const { once, tui, screenReader, viewOnly } = this.options;
    await using metrics = once ? undefined : await this.#metrics();
    const { AtRest } = await import("../../lib/agent/watch/at-rest.ts");
    using rest = once ? undefined : new AtRest();
    const observe = observed(metrics?.observe, rest?.observe);
    const terminal = terminalOf(this.context);
    if (terminal !== undefined && !this.json && !once && tui) {
      const { watchDashboard } = await loadForProduction(() => import("../shell/output/watch-dashboard.ts"));
      const { deployments, failed } = await watchDashboard(
        definitions,
        { ...terminal, screenReader },
        {
          acting: !viewOnly,
          observe,
          reload: (watch, emit, take) => this.#reload(watch, emit, take),
        },
      );
      // The last sentence for a screen reader has no line feed.
      if (screenReader) this.print.line("");
      this.print.line(`${counted(deployments, "deployment")}, ${failed} failed`);
      return EXIT.done;
    }
    using interrupt = interruptible();
    const { Watch } = await import("../../lib/agent/watch/watch.ts");
    const lines = observed(await this.#renderer(), observe);
    if (once) return await this.#once(new Watch(definitions, lines), interrupt.signal);
    const { systemdNotifier } = await import("../../lib/support/systemd/notify.ts");
    using notifier = systemdNotifier({ warn: (message) => lines({ event: "watch.warning", message }) });
    const emit = await telling(notifier, lines);
    const watch = new Watch(definitions, emit);
    const reload = (): void => void notifier.reload(() => this.#reload(watch, emit));
    process.on("SIGHUP", reload);
    interrupt.signal.addEventListener("abort", () => notifier.stopping("Finishing what is under way"), { once: true });
    try {
      await watch.run(interrupt.signal);
    } finally {
      process.off("SIGHUP", reload);
    }
    return this.done({});
  }

  /** Serves the metrics of the loop, if requested. */
  async #metrics(): Promise<(AsyncDisposable & { observe: EmitWatch }) | undefined> {
    const { metricsListen: listen } = this.options;
    if (listen === undefined) return undefined;
    const { serveWatchMetrics } = await import("../../lib/agent/watch/metrics.ts");
    const warn = (message: string): void => this.note(`warning: ${message}`);
    const served = await serveWatchMetrics(listen, { warn });
    this.note(`metrics: ${served.url}`);
    return served;
  }

  /** Applies the configuration as it is now; an invalid one changes nothing. */
  async #reload(
    watch: Watch,
    emit: EmitWatch,
    take: (definitions: readonly WatchedDefinition[]) => void = () => {},
  ): Promise<void> {
    try {
      await this.resolve();
      const definitions = await this.#definitions();
      take(definitions);
      await watch.replace(definitions);
    } catch (thrown) {
      const { message } = asSealiftError(thrown);
      emit({ event: "watch.warning", message: `The configuration was not taken over: ${message}` });
    }
  }

  async #definitions(): Promise<WatchedDefinition[]> {
    const entries: WatchEntry[] = [
      ...this.targets.map((target): WatchEntry => ({ target, options: {} })),
      ...(this.#file?.targets ?? []),
    ];
    if (entries.length === 0) {
      throw usageError("usage", "There is nothing to watch.", {
        hint: "Name targets such as plugin:tide-table, or give --config watch.yaml.",
      });
    }
    const { watchTargets } = await import("./watch-targets.ts");
    const instance = this.options.once ? undefined : this.#instance;
    return watchTargets(entries, this.layers, this.#file?.unknownKeys, instance);
  }

  async #renderer(): Promise<EmitWatch> {
    if (this.json) return this.print.event;
    const { watchLines } = await import("../shell/output/watch-lines.ts");
    // The journal adds times of its own.
    return watchLines(this.print.line, process.env.JOURNAL_STREAM === undefined);
  }

  async #once(watch: Watch, signal: AbortSignal): Promise<number> {
    const turns = await watch.once(signal);
    const exit = worstExit(turns.map(({ exitCode }) => exitCode));
    const targets = turns.map(({ target, outcome, version, error }) => ({
      target,
      outcome,
      version,
      ...(error !== undefined && { error: error.toJSON() }),
    }));
    if (this.json) {
      const status = exit === EXIT.done ? "success" : "failed";
      this.print.event({ event: "result", status, exit_code: exit, targets });
    }
    return exit;
  }
}

/** Returns a listener that passes each event to both, as far as they are given. */
const observed =
  (first: EmitWatch | undefined, second: EmitWatch | undefined): EmitWatch =>
  (event) => {
    first?.(event);
    second?.(event);
  };

/** Passes events to the renderer, and a summary to systemd: readiness, and the state of the targets. */
async function telling(notifier: Notifier, lines: EmitWatch): Promise<EmitWatch> {
  const { TargetStates } = await import("../../lib/agent/watch/target-state.ts");
  const targets = new TargetStates();
  return (event) => {
    lines(event);
    if (event.event === "fetch.progress") return;
    targets.apply(event, Date.now());
    if (event.event === "watch.started") notifier.ready(targets.summary);
    else notifier.status(targets.summary);
  };
}
