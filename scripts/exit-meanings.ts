import type { EXIT } from "../lib/contract/codes.ts";

/** Meanings of exit codes, for people. */
export const EXIT_MEANINGS: Record<keyof typeof EXIT, string> = {
  done: "done",
  failed: "failed",
  usage: "usage: nothing was requested",
  rejected: "a key, token or credential was rejected",
  verification: "verification failed: bytes, archive, manifest or plan",
  refused: "the hub refused the publication",
  rolledBack: "the new release failed, the previous one is back",
  notApproved: "a staged version was rejected, or is gone",
  unsettled: "a defect: the program ended before its work had",
  tryAgain: "try again: the hub or the network, not the input",
  interrupted: "interrupted by a signal",
};
