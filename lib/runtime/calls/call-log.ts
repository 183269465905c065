import type { RuntimeCode } from "../../contract/surfaces/runtime.ts";
import type { Logger } from "../../support/logging.ts";
import { LogBudget } from "../base/log-budget.ts";
import { type RuntimeFault, stackOf } from "../guest/fault.ts";

/** Call that has ended. */
export interface EndedCall {
  plugin: string;
  action: string;
  requestId: string | undefined;
  traceId: string | undefined;
  durationMs: number;
  /** Undefined for a successful call. */
  fault: RuntimeFault | undefined;
}

/** Codes of failures caused by callers: they are answered, and not logged. */
const CALLERS: ReadonlySet<RuntimeCode> = new Set(["payload_invalid", "rate_limited", "bad_request"]);

/** Logs every action that fails, with the stack of what it threw; limited per plugin. */
export class CallLog {
  readonly #logger: Logger;
  readonly #onCall: ((call: EndedCall) => void) | undefined;
  readonly #budgets = new Map<string, LogBudget>();

  /** @param onCall called with every call that has ended */
  constructor(logger: Logger, onCall?: (call: EndedCall) => void) {
    this.#logger = logger;
    this.#onCall = onCall;
  }

  ended(call: EndedCall): void {
    this.#onCall?.(call);
    const { plugin, action, requestId, traceId, fault } = call;
    if (fault === undefined || CALLERS.has(fault.code)) return;
    const stack = stackOf(fault);
    if (!this.#budgetOf(plugin).take(fault.message.length + (stack?.length ?? 0))) return;
    const durationMs = Math.round(call.durationMs * 10) / 10;
    this.#logger.warn(
      { plugin, action, requestId, traceId, code: fault.code, durationMs, ...(stack !== undefined && { stack }) },
      `the action ${action} failed: ${fault.message}`,
    );
  }

  #budgetOf(plugin: string): LogBudget {
    let budget = this.#budgets.get(plugin);
    if (budget === undefined) {
      budget = new LogBudget((lines) =>
        this.#logger.warn({ plugin, lines }, "lines about failed actions were dropped"),
      );
      this.#budgets.set(plugin, budget);
    }
    return budget;
  }
}
