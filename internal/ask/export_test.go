package ask

// Remembered is how many plans the desk knows of.
func (d *Desk) Remembered() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.seen)
}

// Inert is inert.
func Inert(s string) string { return inert(s) }

// Clip is clip.
func Clip(s string, most int) string { return clip(s, most) }
