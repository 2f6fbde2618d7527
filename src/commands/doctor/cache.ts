import { cacheReport } from '../../api/state.ts'
import type { CacheChange, CacheReport, CacheSession } from '../../api/state.ts'
import { visibleLines } from '../../terminal/visible.ts'
import { exitCode, writeJson } from '../shared/command.ts'
import type { CommandContext, ExitCode, ReportFlags } from '../shared/command.ts'
import { loadSettings } from '../shared/settings.ts'
import { requireDaemonView } from '../shared/view.ts'
import { plural } from '../../terminal/format.ts'
import { inWords } from '../../upstream-errors/message.ts'

/** Explains for each session why upstream's cache did not hold its prompts. */
export async function doctorCache(context: CommandContext, flags: ReportFlags): Promise<ExitCode> {
  const settings = await loadSettings(context, flags.config)
  const cache = await (await requireDaemonView(context, settings)).get('/cache', cacheReport)
  if (flags.json) {
    writeJson(context, cache)
    return exitCode.done
  }
  context.stdout.write(visibleLines(cacheText(cache)))
  return exitCode.done
}

function cacheText({ on, sessions }: CacheReport): string {
  const hint = on ? '' : 'Cache diagnostics are off. Set log.cache-diagnostics to true, then send some requests.\n'
  if (sessions.length === 0) return on ? 'No requests yet.\n' : hint
  return `${hint}${sessions.map(sessionText).join('\n')}`
}

function sessionText({ session, named, model, requests, changes, ...tokens }: CacheSession): string {
  const { input_tokens: inputTokens, cached_input_tokens: cachedInputTokens } = tokens
  const rate =
    inputTokens === 0
      ? 'no tokens counted yet'
      : `${percent(cachedInputTokens / inputTokens)} of the input from the cache`
  const name = named ? `Session ${session}` : `Session ${session} (named by copilot-proxy)`
  const lines = changes.map((change) => `  ${changeText(change)}\n`)
  return `${name}: ${model}, ${plural(requests, 'request')}, ${rate}\n${lines.join('') || `  ${unchangedText(requests, inputTokens, cachedInputTokens)}\n`}`
}

function unchangedText(requests: number, inputTokens: number, cachedInputTokens: number): string {
  if (requests === 1) return 'Only one request yet, so there is nothing to compare.'
  const same = 'The start of the prompt did not change.'
  if (inputTokens === 0 || cachedInputTokens > 0) return same
  return `${same} Nothing came from the cache: prompts under about 1000 tokens are not cached.`
}

function changeText({ request, since, segment, ...cache }: CacheChange): string {
  const { idle_seconds: idleSeconds, cached_tokens: cachedTokens } = cache
  const reasons = [
    ...(segment === undefined ? [] : [whatChanged(segment)]),
    ...(idleSeconds === undefined ? [] : [`${inWords(idleSeconds)} passed, and the cache expired`]),
  ]
  const read = cachedTokens === undefined ? '' : ` (${cachedTokens} tokens still came from the cache)`
  return `between request ${since} and ${request}: ${reasons.join('; ')}${cachedTokens === 0 ? '' : read}`
}

const segmentWords: Readonly<Record<string, string>> = {
  model: 'the model changed',
  prompt_cache_key: 'the cache key changed',
  tools: 'the tools changed',
  settings: 'thinking, tool choice or answer format changed',
  instructions: 'the instructions changed',
  system: 'the system text changed',
}

/** For `messages[4]`: the client edited, compacted or cut its history. */
function whatChanged(segment: string): string {
  const known = Object.hasOwn(segmentWords, segment) ? segmentWords[segment] : undefined
  if (known !== undefined) return known
  const [, list, at] = /^(\w+)\[(\d+)\]$/.exec(segment) ?? []
  return list === 'system' ? `the system text changed at block ${at}` : `${segment} was changed or removed`
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}
