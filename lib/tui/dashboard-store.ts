import type { WatchEvent } from "../agent/watch/events.ts";
import { Pictures } from "./pictures.ts";
import { type PastDeployment, WatchModel } from "./watch-model.ts";

/** Takes the loop's events in as they come, and has pictures of them made. */
export class DashboardStore extends Pictures {
  readonly model: WatchModel;

  constructor(past: readonly PastDeployment[] = []) {
    super();
    this.model = new WatchModel(past);
  }

  readonly emit = (event: WatchEvent): void => {
    this.model.apply(event, Date.now());
    this.changed();
  };
}
