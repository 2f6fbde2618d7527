import { access } from 'node:fs/promises'
import { showConfig } from '../../config/secrets.ts'
import { formatConfigError, problemDocument } from '../../config/problem.ts'
import { checkAliasTargets } from '../shared/alias-targets.ts'
import { CommandFailure, exitCode, writeJson } from '../shared/command.ts'
import type { CommandContext, ExitCode, ReportFlags } from '../shared/command.ts'
import { findFiles, loadSettings, readSettings, showWarnings } from '../shared/settings.ts'

export async function configPath(context: CommandContext, flags: ReportFlags): Promise<ExitCode> {
  const { configFile } = findFiles(context, flags.config)
  if (flags.json) {
    const exists = await access(configFile).then(
      () => true,
      () => false,
    )
    writeJson(context, { path: configFile, exists })
  } else {
    context.stdout.write(`${configFile}\n`)
  }
  return exitCode.done
}

/** Checks file and environment, and targets of aliases if a daemon runs. @throws CommandFailure `usage`, one line per problem */
export async function configCheck(context: CommandContext, flags: ReportFlags): Promise<ExitCode> {
  const result = await readSettings(context, flags.config)
  const { configFile: path } = result.ok ? result.settings : result.places
  const targets = result.ok ? await checkAliasTargets(context, result.settings) : undefined
  const warnings = result.ok ? result.settings.warnings : []
  const problems = result.ok ? (targets?.problems ?? []) : result.error.problems
  if (flags.json) {
    writeJson(context, {
      valid: problems.length === 0,
      path,
      problems: problems.map(problemDocument),
      warnings: warnings.map(problemDocument),
      ...(targets?.isComplete === false && { alias_targets_checked: false }),
    })
    return problems.length === 0 ? exitCode.done : exitCode.usage
  }
  if (result.ok) showWarnings(context, result.settings)
  if (!result.ok || problems.length > 0) throw new CommandFailure(exitCode.usage, formatConfigError({ problems }))
  context.stdout.write(
    result.settings.hasFile
      ? `${path} is valid.\n`
      : `No configuration file at ${path}. The defaults and environment variables are valid.\n`,
  )
  if (targets?.isComplete === false) {
    const reason = targets.keyRefused?.message ?? notRunning
    context.stderr.write(`Note: the models in models.aliases were not checked. ${reason}\n`)
  }
  return exitCode.done
}

const notRunning = 'Only a running copilot-proxy knows your models. Run copilot-proxy start, then check again.'

/** Prints the values in force and their sources, secrets masked. */
export async function configShow(context: CommandContext, flags: ReportFlags): Promise<ExitCode> {
  const { config, sources } = await loadSettings(context, flags.config)
  context.stdout.write(showConfig(config, sources, flags.json ? 'json' : 'yaml'))
  return exitCode.done
}
