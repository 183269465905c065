import { together } from "../support/together.ts";

together("test/attacks/{delta,host,hub,joining,marketplace,watch}/**/*.test.ts");
