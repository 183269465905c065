import { together } from "../support/together.ts";

together("test/lib/web/**/*.test.ts");
