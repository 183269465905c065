import type { HubFeature } from "../feature.ts";
import { staging as routes } from "./routes.ts";

/** Versions that are published when another person approves them. */
export const staging: HubFeature = {
  name: "staging",
  start: async () => ({ routes }),
};
