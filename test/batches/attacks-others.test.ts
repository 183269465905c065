import { together } from "../support/together.ts";

together("test/attacks/!(artifact|runtime|zip)/**/*.test.ts");
