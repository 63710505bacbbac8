// Runs after npm ci, on any Node. Says in one line what the engine warnings of npm are about. The
// scripts of package.json find the Node that was just installed, so npm's own is in its user agent.
const [, version = '', major = '', minor = ''] =
  /\bnode\/v((\d+)\.(\d+)\.\d+)/.exec(process.env.npm_config_user_agent ?? '') ?? []
const isOlder = Number(major) < 22 || (major === '22' && Number(minor) < 14)
if (version !== '' && isOlder)
  console.log(
    `npm ran on Node ${version}, hence its engine warnings; use Node 22.14, 24 or 26 to avoid them. All scripts here run on the Node 24 that is now installed.`,
  )
