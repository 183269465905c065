import { together } from "../support/together.ts";

together("test/lib/apps/**/*.test.ts");
