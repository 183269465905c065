/** The hub itself, for tests of its clients: their folder may not reach into the hub's. */
export { createProject, publication, startHub } from "./harness.ts";
