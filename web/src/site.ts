// Every page works without this script. It adds keys, copying, the column beside a specification, and live updates.
import { startBeside } from "./beside";
import { startCopying } from "./copying";
import { startKeys } from "./keys";
import { startLiveUpdates } from "./live";
import { startTheme } from "./theme";

startTheme();
startCopying(document);
startBeside();
startKeys();
startLiveUpdates();
