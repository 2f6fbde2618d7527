/** Folders in the home folder that commands in the sandbox may read. All other files of the home folder do not exist for them. */
interface Toolchain {
  readonly reason: string
  /** Relative to the home folder. */
  readonly paths: readonly string[]
}

/** Credentials lie beside many of these, so only the parts without them are listed. */
const toolchains: readonly Toolchain[] = [
  {
    reason: 'version managers, with the compilers and interpreters that they have installed',
    paths: [
      '.nvm',
      '.fnm',
      '.local/share/fnm',
      '.volta',
      '.asdf',
      '.local/share/mise',
      '.local/share/rtx',
      '.tool-versions',
      '.nodenv',
      '.pyenv',
      '.rbenv',
      '.rvm',
      '.sdkman',
      '.jenv',
      '.ghcup',
      '.nix-profile',
    ],
  },
  {
    reason: 'Node.js, Bun and Deno',
    paths: [
      '.bun',
      '.deno',
      '.local/share/pnpm',
      '.npm-global/bin',
      '.npm-global/lib',
      '.npm-packages/bin',
      '.npm-packages/lib',
    ],
  },
  {
    reason: 'Rust: programs, toolchains and downloaded packages',
    paths: ['.cargo/bin', '.cargo/registry', '.cargo/git', '.rustup'],
  },
  { reason: 'Go: programs and downloaded modules', paths: ['go/bin', 'go/pkg', '.local/go', 'sdk'] },
  {
    reason: 'Python: packages of the user, and the tools of pipx, uv and conda',
    paths: [
      '.local/lib',
      '.local/share/uv/python',
      '.local/share/uv/tools',
      '.local/share/pipx',
      '.local/pipx',
      'miniconda3',
      'anaconda3',
      'miniforge3',
      '.conda/envs',
      '.conda/pkgs',
    ],
  },
  {
    reason: 'Java, .NET, Ruby, PHP, Haskell, Elixir, Dart: downloaded packages',
    paths: [
      '.m2/repository',
      '.m2/wrapper',
      '.gradle/caches',
      '.gradle/wrapper',
      ...['dotnet', 'host', 'packs', 'sdk', 'sdk-manifests', 'shared', 'templates', 'tools'].map(
        (name) => `.dotnet/${name}`,
      ),
      '.nuget/packages',
      '.gem/ruby',
      '.local/share/gem',
      '.config/composer/vendor',
      '.cabal/bin',
      '.cabal/packages',
      '.stack/programs',
      '.mix',
      '.hex/packages',
      ...['bin', 'git', 'global_packages', 'hosted'].map((name) => `.pub-cache/${name}`),
      'flutter',
    ],
  },
  { reason: 'programs that the user has installed', paths: ['.local/bin', 'bin', '.linuxbrew'] },
  {
    reason: 'git needs the name of the author, and the ignored files',
    paths: ['.gitconfig', '.config/git/config', '.config/git/ignore'],
  },
]

/** Relative to the home folder. */
export const toolchainPaths: readonly string[] = toolchains.flatMap(({ paths }) => paths)

/**
 * Variables that move caches to `folder`, because the home folder of a command is empty and goes away with it. Programs that
 * follow the XDG base directories need no variable of their own. Without a network, npm would wait a minute between its
 * trials, for a package that `npx` does not find, for instance.
 */
export function commandVariables(folder: string, hasNetwork: boolean): Readonly<Record<string, string>> {
  return {
    ...(!hasNetwork && { npm_config_fetch_retries: '0' }),
    XDG_CACHE_HOME: folder,
    npm_config_cache: `${folder}/npm`,
    YARN_CACHE_FOLDER: `${folder}/yarn`,
    GRADLE_USER_HOME: `${folder}/gradle`,
    NUGET_HTTP_CACHE_PATH: `${folder}/nuget`,
  }
}
