import { together } from "../support/together.ts";

together("test/attacks/{artifact,zip}/**/*.test.ts");
