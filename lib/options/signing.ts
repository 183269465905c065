import { flag } from "./kinds.ts";

/** Option of the publishing commands: no question about a signer that no earlier version had. */
export const goOn = flag({ help: "Publish by a new signer without asking first" });
