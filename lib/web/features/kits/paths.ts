import { pagePaths, type TargetKind } from "../../page/view.ts";

export const kitsPath = (kind: TargetKind, slug: string): string => `${pagePaths.target(kind, slug)}/kits`;
