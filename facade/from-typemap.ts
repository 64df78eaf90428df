export {
  defaultAdapter,
  type LibraryAdapter,
  type SchemaAdapter,
  type SchemaMode,
  valibotAdapter,
  zodAdapter,
} from "./schema/adapters.js";
