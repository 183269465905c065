import { choice, flag } from "./kinds.ts";

/** Option of the publishing commands: no question about a signer that no earlier version had. */
export const goOn = flag({ help: "Publish by a new signer without asking first" });

/** Option of the publishing commands: what a signer means that no version carries which hosts may get. */
export const newSigner = choice(["warn", "refuse"], { help: "What to do by a signer that is new", default: "warn" });
