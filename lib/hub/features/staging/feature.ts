import type { HubFeature } from "../feature.ts";
import { staging as routes } from "./routes.ts";

/** Staging: versions that are published once another person approves them. */
export const staging: HubFeature = {
  name: "staging",
  start: async () => ({ routes }),
};
