import { deploymentError } from "../../contract/errors.ts";
import type { Supervisor } from "./supervisor.ts";

/** Nobody: plans that need a supervisor are refused before they get here (docs/contract/install-plan.md). */
export function noSupervisor(): Supervisor {
  const refuse = () =>
    Promise.reject(
      deploymentError("needs_supervisor", "There is no supervisor to do this.", {
        hint: "Choose one with --supervisor.",
      }),
    );
  return { ready: () => Promise.resolve(undefined), start: refuse, stop: refuse, restart: refuse, check: refuse };
}
