import { longContextMarks, providers } from '../models/names.ts'
import { nativeDialect } from './target.ts'
import type { Target } from './target.ts'

const prefix = 'COPILOT_PROVIDER_'

/**
 * Everything that the Copilot CLI needs to use the proxy instead of GitHub: it reads no file for that. Its own list has the
 * limits of some models, and it assumes 128,000 tokens and no limit of answers for all others.
 * Source: `copilot help providers` of 1.0.102.
 * @param offline the user's own COPILOT_OFFLINE. By default it sends nothing to GitHub, so that it needs no login there
 */
export function copilotCliVariables(
  { url, key, chosen }: Target,
  offline: string = 'true',
): Readonly<Record<string, string>> {
  const { main } = chosen
  const { id, contextTokens, outputTokens } = main
  const dialect = nativeDialect(main)
  const knownAs = upstreamId(id)
  return {
    COPILOT_OFFLINE: offline,
    [`${prefix}TYPE`]: dialect === 'messages' ? 'anthropic' : 'openai',
    [`${prefix}BASE_URL`]: dialect === 'messages' ? url : `${url}/v1`,
    ...(dialect === 'responses' && { [`${prefix}WIRE_API`]: 'responses' }),
    [`${prefix}API_KEY`]: key,
    COPILOT_MODEL: id,
    // It prompts a model that it knows in another way.
    ...(knownAs !== id && { [`${prefix}MODEL_ID`]: knownAs, [`${prefix}WIRE_MODEL`]: id }),
    ...(contextTokens !== undefined && { [`${prefix}MAX_PROMPT_TOKENS`]: String(contextTokens) }),
    ...(outputTokens !== undefined && { [`${prefix}MAX_OUTPUT_TOKENS`]: String(outputTokens) }),
  }
}

/** In a terminal, the model of the user's own settings takes precedence over the variable. */
export function copilotCliOptions({ chosen }: Target): readonly string[] {
  return ['--model', chosen.main.id]
}

/** Without the prefix of a provider and the mark of a context tier. */
function upstreamId(id: string): string {
  const provider = providers.find((each) => id.startsWith(`${each}/`))
  const name = provider === undefined ? id : id.slice(provider.length + 1)
  const mark = longContextMarks.find((each) => name.endsWith(each))
  return mark === undefined ? name : name.slice(0, -mark.length)
}

/** Unsets the user's own variables for a provider, of which one may name another credential or model. */
export function copilotCliConflicts(
  env: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, undefined>> {
  const names = Object.keys(env).filter((name) => name.toUpperCase().startsWith(prefix))
  return Object.fromEntries(names.map((name) => [name, undefined]))
}
