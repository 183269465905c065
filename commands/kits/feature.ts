import type { CommandFeature } from "../shell/feature.ts";
import { KitCollect } from "./collect.ts";
import { KitEnd, KitList } from "./end.ts";
import { KitKey } from "./key.ts";
import { KitMake } from "./make.ts";
import { KitShow } from "./show.ts";
import { KitSubmit } from "./submit.ts";

export const kits: CommandFeature = {
  name: "kits",
  commands: [KitMake, KitShow, KitKey, KitList, KitEnd, KitCollect, KitSubmit],
};
