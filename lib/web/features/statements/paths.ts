import { pagePaths, type TargetKind } from "../../page/view.ts";

export const statementsPath = (kind: TargetKind, slug: string): string => `${pagePaths.target(kind, slug)}/statements`;
