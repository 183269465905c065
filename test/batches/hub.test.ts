import { together } from "../support/together.ts";

together("test/lib/hub/*.test.ts");
