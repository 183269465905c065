import { EXIT } from "../../contract/codes.ts";
import { asSealiftError, type SealiftError, usageError } from "../../contract/errors.ts";

/** Most targets that one message lists; of more it gives the number. */
const NAMED_TARGETS = 3;

/** Faults of many targets, reported together; what several have in common is said once. */
export class WatchFaults {
  readonly #found = new Map<string, { error: SealiftError; targets: Set<string> }>();

  /** Adds a fault. @throws the error itself when it is not one of those that can be collected */
  add(error: SealiftError, target?: string): void {
    if (error.exitCode !== EXIT.usage) throw error;
    const found = this.#found.get(error.message) ?? { error, targets: new Set() };
    if (target !== undefined) found.targets.add(target);
    this.#found.set(error.message, found);
  }

  attempt(target: string, task: () => unknown): void {
    try {
      task();
    } catch (thrown) {
      this.add(asSealiftError(thrown), target);
    }
  }

  /**
   * Throws the collected faults, if any. @throws UsageError with the code that all have in common, else
   * `config_invalid`
   */
  throwIfAny(): void {
    const found = [...this.#found.values()];
    const [first, ...others] = found;
    if (first === undefined) return;
    const messages = found.map(({ error, targets }) => `${prefixOf([...targets])}${error.message}`);
    const { code, hint } = first.error;
    if (others.length === 0) throw usageError(code, messages[0]!, first.error);
    throw usageError(
      others.every(({ error }) => error.code === code) ? code : "config_invalid",
      `${found.length} faults, and nothing was started:\n${messages.map((message) => `  - ${message}`).join("\n")}`,
      { faults: messages, ...(others.every(({ error }) => error.hint === hint) && hint !== undefined && { hint }) },
    );
  }
}

function prefixOf(targets: readonly string[]): string {
  if (targets.length === 0) return "";
  const rest = targets.length - NAMED_TARGETS;
  return `${targets.slice(0, NAMED_TARGETS).join(", ")}${rest > 0 ? ` and ${rest} more` : ""}: `;
}
