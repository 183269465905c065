import { together } from "../support/together.ts";

together("test/attacks/{delta,host,hub,marketplace,watch}/**/*.test.ts");
