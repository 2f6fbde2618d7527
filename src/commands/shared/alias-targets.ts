import type { Problem } from '../../config/problem.ts'
import { nearMisses, providerOfName } from '../../models/names.ts'
import { fetchFromDaemon } from '../models/fetch-models.ts'
import type { CommandContext } from './command.ts'
import { findCommandKey, findDaemon, getFromDaemon, KeyRefused, returnMissingKey } from './find-daemon.ts'
import type { LoadedSettings } from './settings.ts'

const timeoutMs = 3000

interface TargetCheck {
  /** One problem for each target that no model list has. */
  readonly problems: readonly Problem[]
  /** Whether the model list of each target's provider is known. */
  readonly isComplete: boolean
  /** Why the result is not complete, if the running daemon requires another key. */
  readonly keyRefused?: KeyRefused | undefined
}

/** Looks up the targets of `models.aliases` in the model lists of the accounts, which only a running daemon has. */
export async function checkAliasTargets(context: CommandContext, settings: LoadedSettings): Promise<TargetCheck> {
  const { config, sources } = settings
  const targets = Object.entries(config.models.aliases).flatMap(([alias, value]) =>
    [value].flat().map((target) => ({ alias, target })),
  )
  if (targets.length === 0) return { problems: [], isComplete: true }
  const list = await fetchFromDaemon(context, settings).catch(returnMissingKey)
  if (list === undefined || list instanceof KeyRefused) return { problems: [], isComplete: false, keyRefused: list }
  const { url } = await findDaemon(context, settings)
  const address = { url, key: await findCommandKey(context, settings, url) }
  const rows = list.models.flatMap(({ id, copilot_proxy: { alias_of: aliasOf, provider, source } }) =>
    aliasOf === null ? [{ id, provider, source }] : [],
  )
  const listedProviders = [...new Set(rows.map(({ provider }) => provider))]
  const problems: Problem[] = []
  let isComplete = true
  for (const { alias, target } of targets) {
    const wanted = providerOfName(target)
    const providers = wanted === undefined ? listedProviders : [wanted]
    const isKnown = providers.every((one) => rows.some(({ provider, source }) => provider === one && source === 'live'))
    isComplete &&= isKnown
    // With the provider's prefix, no alias of the daemon's settings is meant.
    const names = wanted === undefined ? providers.map((provider) => `${provider}/${target}`) : [target]
    if (!isKnown || (await isAnyFound(names))) continue
    const [near] = nearMisses(
      target,
      rows.map(({ id }) => id),
    )
    const key = `models.aliases.${alias}`
    const advice = near === undefined ? '' : `, did you mean "${near}"?`
    problems.push({
      source: sources[key] ?? { kind: 'default' },
      key,
      detail: `no model is named "${target}"${advice}`,
    })
  }
  return { problems, isComplete }

  async function isAnyFound(names: readonly string[]): Promise<boolean> {
    for (const name of names) {
      const path = `/v1/models/${name.split('/').map(encodeURIComponent).join('/')}`
      const { status } = await getFromDaemon(context, address, path, timeoutMs)
      if (status !== 404) return true
    }
    return false
  }
}
