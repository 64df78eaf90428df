import "./sea-addon.mjs";
import "./program.mjs";
