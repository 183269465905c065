import { hostChange } from "./agent.ts";

/** Options of `app serve`. */
export const appServe = { ...hostChange };
