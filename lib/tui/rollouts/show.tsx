import type { Instance } from "ink";
import { show, type Terminal } from "../show.tsx";
import { RolloutView, type RolloutViewProps } from "./view.tsx";

/** Shows a rollout, live. */
export const showRollout = (props: RolloutViewProps, terminal: Terminal): Instance =>
  show(<RolloutView {...props} />, terminal);
