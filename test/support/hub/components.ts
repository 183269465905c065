import type { FeatureFill } from "./filling.ts";

export const componentFill: FeatureFill = {
  pages: () => ({ components: "/components?q=lodash" }),
  rights: () => ({ "/components?q=lodash": "/app/deployments/deployments/components?q=lodash" }),
  lists: () => ({ "fleet find": ["fleet find lodash", true] }),
};
