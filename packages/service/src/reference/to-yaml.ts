/** JSON values as YAML 1.2. Texts are quoted as in JSON, which is YAML too. */
export function toYaml(value: unknown): string {
  return `${writeBlock(value, '').trimStart()}\n`
}

/** Starts with a line break if it takes several lines, else with a space. */
function writeBlock(value: unknown, indent: string): string {
  if (Array.isArray(value) && value.length > 0)
    return value.map((item) => `\n${indent}-${writeItem(item, `${indent}  `)}`).join('')
  if (typeof value === 'object' && value !== null && Object.keys(value).length > 0)
    return Object.entries(value)
      .map(([name, member]) => `\n${indent}${writeKey(name)}:${writeBlock(member, `${indent}  `)}`)
      .join('')
  return ` ${JSON.stringify(value)}`
}

/** The first member of an object is on the line of the dash. */
function writeItem(item: unknown, indent: string): string {
  const block = writeBlock(item, indent)
  return block.startsWith('\n') ? ` ${block.slice(1 + indent.length)}` : block
}

/** Plain where no reader takes it for anything but a text. */
function writeKey(name: string): string {
  const isPlain = /^[A-Za-z_$][\w-]*$/.test(name) && !/^(?:true|false|null|yes|no|on|off|y|n)$/i.test(name)
  return isPlain ? name : JSON.stringify(name)
}
