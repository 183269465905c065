import { definePlugin } from "sealift/sdk";
import { heightAt, nextHighWater } from "./tides.js";

export default definePlugin({
  actions: {
    height: (payload) => ({ metres: heightAt(new Date(payload.at ?? Date.now())) }),
    next: {
      description: "The next high water after a time",
      payload: { type: "object", properties: { after: { type: "string" } }, additionalProperties: false },
      handler: (payload) => nextHighWater(new Date(payload.after ?? Date.now())),
    },
  },
});
