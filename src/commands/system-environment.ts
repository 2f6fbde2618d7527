/** What a program of the system needs to run and to find the user's session; everything else, tokens among it, stays out. */
const passedVariables = [
  'DBUS_SESSION_BUS_ADDRESS',
  'HOME',
  'LANG',
  'LC_ALL',
  'LOGNAME',
  'PATH',
  'SystemRoot',
  'TZ',
  'USER',
  'USERPROFILE',
  'XDG_CONFIG_HOME',
  'XDG_RUNTIME_DIR',
]

type Environment = Readonly<Record<string, string | undefined>>

/** The environment for a program of the system. */
export function systemEnvironment(env: Environment): Environment {
  return Object.fromEntries(passedVariables.map((name) => [name, env[name]]))
}
