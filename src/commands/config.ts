import { access } from 'node:fs/promises'
import { showConfig } from '../config/secrets.ts'
import { formatConfigError, formatSource } from '../config/problem.ts'
import { CommandFailure, exitCode, writeJson } from './shared/command.ts'
import type { CommandContext, ExitCode, ReportFlags } from './shared/command.ts'
import { findFiles, loadSettings, readSettings } from './shared/settings.ts'

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

/** Checks file and environment. @throws CommandFailure `usage`, one line per problem */
export async function configCheck(context: CommandContext, flags: ReportFlags): Promise<ExitCode> {
  const result = await readSettings(context, flags.config)
  const { configFile: path } = result.ok ? result.settings : result.places
  if (flags.json) {
    const problems = result.ok ? [] : result.error.problems
    writeJson(context, {
      valid: result.ok,
      path,
      problems: problems.map(({ source, key, detail }) => ({ source: formatSource(source), key, detail })),
    })
    return result.ok ? exitCode.done : exitCode.usage
  }
  if (!result.ok) throw new CommandFailure(exitCode.usage, formatConfigError(result.error))
  context.stdout.write(
    result.settings.hasFile
      ? `${path} is valid.\n`
      : `There is no file at ${path}; defaults and environment are valid.\n`,
  )
  return exitCode.done
}

/** Prints the values in force and their sources, secrets masked. */
export async function configShow(context: CommandContext, flags: ReportFlags): Promise<ExitCode> {
  const { config, sources } = await loadSettings(context, flags.config)
  context.stdout.write(showConfig(config, sources, flags.json ? 'json' : 'yaml'))
  return exitCode.done
}
