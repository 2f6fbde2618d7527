import type { ModelTraits } from '../model-traits.ts'
import { refuseValue } from './invalid.ts'

/**
 * Most tools in one request on Copilot's chat and Responses routes, for models without tool search
 * (docs/copilot-wire.md, "Parameters by model").
 */
const MOST_TOOLS = 128

/**
 * @param path of the list, as the caller named it
 * @throws Fault `invalid_request`: to leave tools out would change what the model can do
 */
export function refuseTooManyTools(count: number, path: string, { id, provider, supports }: ModelTraits): void {
  if (count <= MOST_TOOLS || supports.toolSearch === true || provider === 'codex') return
  const detail = `expected at most ${MOST_TOOLS} tools for ${id}, got ${count}`
  refuseValue(path, detail, 'array_above_max_length')
}
