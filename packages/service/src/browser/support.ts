import { createElement, readPageMessages, requireElement } from './page.ts'

/** Makes the button work that copies the details for support. */
export function handleCopy(): void {
  const button = requireElement('copy', HTMLButtonElement)
  const copied = requireElement('copied', HTMLSpanElement)
  button.addEventListener('click', async () => {
    const text = [...requireElement('support', HTMLDetailsElement).querySelectorAll('dt')]
      .map((name) => `${name.textContent}: ${name.nextElementSibling?.textContent}`)
      .join('\n')
    try {
      await navigator.clipboard.writeText(text)
      copied.textContent = readPageMessages<'signIn'>().common.copied
    } catch {
      // The browser does not allow it. The person can select the text.
      const list = button.previousElementSibling
      if (list !== null) getSelection()?.selectAllChildren(list)
    }
  })
}

/** Shows the details for support below the current state. */
export function showSupport(facts: readonly (readonly [name: string, value: string])[]): void {
  const details = requireElement('support', HTMLDetailsElement)
  details
    .querySelector('dl')
    ?.replaceChildren(
      ...facts.flatMap(([name, value]) => [createElement('dt', '', name), createElement('dd', '', value)]),
    )
  details.hidden = false
}
