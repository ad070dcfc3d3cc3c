//! `wasi:filesystem/types`, with the record closed for writing.
//!
//! This stands in front of Wasmtime's own implementation, which keeps guests inside their directory, and
//! hands every call on to it. A call that changes something is first brought into a form that can be judged
//! and that nothing can come between and its judgement:
//!
//! - A path is split into its directory, which is opened, and the last name in it. The directory's real path
//!   and that name are judged ([`ProtectedPaths`]), and the call is made on the same
//!   open directory.
//! - A file is opened to write without making or emptying it. The open file is judged, and only then emptied
//!   or handed to the guest. Where there is none, one is made under a judged name, and nothing else: not what
//!   a link in that place points to.

use super::protect::{Operation, ProtectedPaths, Rule, path_of};
use super::store::{State, Watch};
use std::fs::File;
use std::io;
use std::sync::Arc;
use wasmtime::component::{HasData, Resource};
use wasmtime_wasi::filesystem::{Descriptor, WasiFilesystemCtxView};
use wasmtime_wasi::p2::bindings::filesystem::types::{
    self, Advice, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry, DirectoryEntryStream, ErrorCode,
    Filesize, Host, HostDescriptor, HostDirectoryEntryStream, MetadataHashValue, NewTimestamp, OpenFlags, PathFlags,
};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, FsError, FsResult};
use wasmtime_wasi::runtime::spawn_blocking;

/// How many symbolic links a path may lead over, as in Linux.
const MAX_LINKS: usize = 40;

/// Stands for [`Filesystem`] where Wasmtime wants a type without a lifetime.
pub(crate) struct Marker;

impl HasData for Marker {
    type Data<'a> = Filesystem<'a>;
}

/// The files of one guest, for one call.
pub(crate) struct Filesystem<'a> {
    inner: WasiFilesystemCtxView<'a>,
    watch: &'a mut Watch,
}

/// The files of the guest whose state this is.
pub(crate) fn files(state: &mut State) -> Filesystem<'_> {
    let (wasi, watch) = state.files();
    let inner = WasiFilesystemCtxView { ctx: wasi.ctx.filesystem(), table: wasi.table };
    Filesystem { inner, watch }
}

/// Where an operation takes place: a name in an open directory.
struct Place {
    /// In the guest's table, but not the guest's: [`Filesystem::leave`] takes it out again.
    directory: Resource<Descriptor>,
    name: String,
    /// The path ended in a slash: the operation fails unless the name is a directory's.
    slash: bool,
}

impl Place {
    fn directory(&self) -> Resource<Descriptor> {
        borrowed(&self.directory)
    }

    /// The name as it is handed on.
    fn entry(&self) -> String {
        let slash = if self.slash { "/" } else { "" };
        format!("{}{slash}", self.name)
    }
}

fn borrowed(descriptor: &Resource<Descriptor>) -> Resource<Descriptor> {
    Resource::new_borrow(descriptor.rep())
}

/// Splits a path into its directory, ending in a slash, its last name, and whether a slash follows. `None` where
/// it ends in no name, but in `.` or `..`, or is empty.
fn split(path: &str) -> Option<(&str, &str, bool)> {
    let trimmed = path.trim_end_matches('/');
    let (directory, name) = match trimmed.rfind('/') {
        Some(slash) => trimmed.split_at(slash + 1),
        None => ("./", trimmed),
    };
    match name {
        "" | "." | ".." => None,
        name => Some((directory, name, trimmed.len() < path.len())),
    }
}

impl Filesystem<'_> {
    /// Opens the directory of a path. With [`PathFlags::SYMLINK_FOLLOW`] a link in the last place is followed,
    /// also when it leads to nothing.
    ///
    /// # Errors
    /// `invalid` for a path that ends in `.` or `..`: nothing can be made, moved or removed there.
    async fn place(&mut self, from: &Resource<Descriptor>, flags: PathFlags, path: &str) -> FsResult<Place> {
        let mut path = path.to_owned();
        for _ in 0..=MAX_LINKS {
            let (directory, name, slash) = match split(&path) {
                Some(parts) => parts,
                None if path.is_empty() => return Err(ErrorCode::NoEntry.into()),
                None => return Err(ErrorCode::Invalid.into()),
            };
            let place = Place { directory: self.open_directory(from, directory).await?, name: name.to_owned(), slash };
            if !flags.contains(PathFlags::SYMLINK_FOLLOW) {
                return Ok(place);
            }
            let link = self.inner.readlink_at(place.directory(), place.name.clone()).await;
            let Ok(target) = link else {
                // Not a link, or nothing at all.
                return Ok(place);
            };
            self.leave(place)?;
            let slash = if slash { "/" } else { "" };
            path = if target.starts_with('/') { target } else { format!("{directory}{target}{slash}") };
        }
        Err(ErrorCode::Loop.into())
    }

    async fn open_directory(&mut self, from: &Resource<Descriptor>, path: &str) -> FsResult<Resource<Descriptor>> {
        let (from, path) = (borrowed(from), path.to_owned());
        let (open, flags) = (OpenFlags::DIRECTORY, DescriptorFlags::READ);
        self.inner.open_at(from, PathFlags::SYMLINK_FOLLOW, path, open, flags).await
    }

    /// Closes the directory of a place.
    fn leave(&mut self, place: Place) -> FsResult<()> {
        self.close(place.directory)
    }

    fn close(&mut self, descriptor: Resource<Descriptor>) -> FsResult<()> {
        self.inner.table.delete(descriptor)?;
        Ok(())
    }

    /// Judges an operation on a place; `path` is what the guest called it.
    async fn permit_at(&mut self, operation: Operation, place: &Place, path: &str) -> FsResult<()> {
        let directory = self.host_file(&place.directory)?;
        let name = place.name.clone();
        let protected = Arc::clone(&self.watch.protected);
        let rule = judge(protected, move |protected| protected.forbid_at(operation, &directory, &name)).await?;
        self.permitted(operation, path, rule)
    }

    /// Judges an operation on what is open; `path` is what the guest called it, if it called it anything.
    async fn permit_open(
        &mut self,
        operation: Operation,
        descriptor: &Resource<Descriptor>,
        path: Option<&str>,
    ) -> FsResult<()> {
        let file = self.host_file(descriptor)?;
        let protected = Arc::clone(&self.watch.protected);
        let judged = Arc::clone(&file);
        let rule = judge(protected, move |protected| protected.forbid_open(operation, &judged)).await?;
        match path {
            Some(path) => self.permitted(operation, path, rule),
            None => {
                let path = path_of(&file)?;
                self.permitted(operation, &path.to_string_lossy(), rule)
            }
        }
    }

    fn permitted(&mut self, operation: Operation, path: &str, rule: Option<Rule>) -> FsResult<()> {
        match rule {
            None => Ok(()),
            Some(rule) => Err(self.watch.refuse(operation, path, &rule)),
        }
    }

    fn host_file(&self, descriptor: &Resource<Descriptor>) -> FsResult<Arc<File>> {
        Ok(match self.inner.table.get(descriptor)? {
            Descriptor::File(file) => Arc::clone(&file.file),
            Descriptor::Dir(directory) => Arc::clone(&directory.dir),
        })
    }

    /// Opens an existing file to write, judged and then emptied if that is wanted.
    async fn open_existing(
        &mut self,
        from: &Resource<Descriptor>,
        path_flags: PathFlags,
        path: &str,
        open_flags: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Resource<Descriptor>> {
        let truncate = open_flags.contains(OpenFlags::TRUNCATE);
        let operation = if truncate { Operation::Truncate } else { Operation::Write };
        let harmless = open_flags & OpenFlags::DIRECTORY;
        let file = self.inner.open_at(borrowed(from), path_flags, path.to_owned(), harmless, flags).await?;
        let mut outcome = self.permit_open(operation, &file, Some(path)).await;
        if outcome.is_ok() && truncate {
            outcome = self.empty(&file).await;
        }
        match outcome {
            Ok(()) => Ok(file),
            Err(error) => {
                self.close(file)?;
                Err(error)
            }
        }
    }

    /// Empties an open file. What is no regular file is left alone, as by `open`.
    async fn empty(&mut self, file: &Resource<Descriptor>) -> FsResult<()> {
        match self.inner.get_type(borrowed(file)).await? {
            DescriptorType::RegularFile => self.inner.set_size(borrowed(file), 0).await,
            DescriptorType::Unknown
            | DescriptorType::BlockDevice
            | DescriptorType::CharacterDevice
            | DescriptorType::Directory
            | DescriptorType::Fifo
            | DescriptorType::SymbolicLink
            | DescriptorType::Socket => Ok(()),
        }
    }

    /// Makes a file where there is nothing, and opens it.
    ///
    /// # Errors
    /// `exist` when there is something, a link to nothing among others.
    async fn open_new(
        &mut self,
        from: &Resource<Descriptor>,
        path_flags: PathFlags,
        path: &str,
        flags: DescriptorFlags,
    ) -> FsResult<Resource<Descriptor>> {
        let place = self.place(from, path_flags, path).await?;
        let outcome = self.open_new_at(&place, path, flags).await;
        self.leave(place)?;
        outcome
    }

    async fn open_new_at(
        &mut self,
        place: &Place,
        path: &str,
        flags: DescriptorFlags,
    ) -> FsResult<Resource<Descriptor>> {
        self.permit_at(Operation::Create, place, path).await?;
        if place.slash {
            return Err(ErrorCode::IsDirectory.into());
        }
        let open_flags = OpenFlags::CREATE | OpenFlags::EXCLUSIVE;
        self.inner.open_at(place.directory(), PathFlags::empty(), place.name.clone(), open_flags, flags).await
    }
}

/// Asks the rules, which read the file system, on a thread that may block.
async fn judge(
    protected: Arc<ProtectedPaths>,
    question: impl FnOnce(&ProtectedPaths) -> io::Result<Option<&Rule>> + Send + 'static,
) -> FsResult<Option<Rule>> {
    let rule = spawn_blocking(move || question(&protected).map(Option::<&Rule>::cloned)).await?;
    Ok(rule)
}

fn is(error: &FsError, code: ErrorCode) -> bool {
    error.downcast_ref() == Some(&code)
}

impl Host for Filesystem<'_> {
    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<ErrorCode> {
        self.inner.convert_error_code(error)
    }

    fn filesystem_error_code(&mut self, error: Resource<wasmtime::Error>) -> wasmtime::Result<Option<ErrorCode>> {
        self.inner.filesystem_error_code(error)
    }
}

/// What changes something, judged.
impl HostDescriptor for Filesystem<'_> {
    async fn open_at(
        &mut self,
        fd: Resource<Descriptor>,
        path_flags: PathFlags,
        path: String,
        open_flags: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Resource<Descriptor>> {
        let changes = OpenFlags::CREATE | OpenFlags::TRUNCATE;
        if !flags.contains(DescriptorFlags::WRITE) && !open_flags.intersects(changes) {
            return self.inner.open_at(fd, path_flags, path, open_flags, flags).await;
        }
        if open_flags.contains(OpenFlags::DIRECTORY) && open_flags.intersects(changes | OpenFlags::EXCLUSIVE) {
            return Err(ErrorCode::Invalid.into());
        }
        // To make or to empty a file is to open it for writing, whether that is said or not.
        let flags = if flags.contains(DescriptorFlags::WRITE) {
            flags
        } else {
            flags | DescriptorFlags::READ | DescriptorFlags::WRITE
        };
        if open_flags.contains(OpenFlags::CREATE | OpenFlags::EXCLUSIVE) {
            return self.open_new(&fd, PathFlags::empty(), &path, flags).await;
        }
        loop {
            let existing = self.open_existing(&fd, path_flags, &path, open_flags, flags).await;
            match existing {
                Err(error) if is(&error, ErrorCode::NoEntry) && open_flags.contains(OpenFlags::CREATE) => {}
                outcome => return outcome,
            }
            match self.open_new(&fd, path_flags, &path, flags).await {
                // Another process was faster.
                Err(error) if is(&error, ErrorCode::Exist) => {}
                outcome => return outcome,
            }
        }
    }

    async fn set_times(
        &mut self,
        fd: Resource<Descriptor>,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FsResult<()> {
        self.permit_open(Operation::SetTimes, &fd, None).await?;
        self.inner.set_times(fd, accessed, modified).await
    }

    async fn set_times_at(
        &mut self,
        fd: Resource<Descriptor>,
        flags: PathFlags,
        path: String,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FsResult<()> {
        if split(&path).is_none() && !path.is_empty() {
            let directory = self.open_directory(&fd, &path).await?;
            let mut outcome = self.permit_open(Operation::SetTimes, &directory, Some(&path)).await;
            if outcome.is_ok() {
                outcome = self.inner.set_times(borrowed(&directory), accessed, modified).await;
            }
            self.close(directory)?;
            return outcome;
        }
        let place = self.place(&fd, flags, &path).await?;
        let mut outcome = self.permit_at(Operation::SetTimes, &place, &path).await;
        if outcome.is_ok() {
            outcome =
                self.inner.set_times_at(place.directory(), PathFlags::empty(), place.entry(), accessed, modified).await;
        }
        self.leave(place)?;
        outcome
    }

    async fn create_directory_at(&mut self, fd: Resource<Descriptor>, path: String) -> FsResult<()> {
        let place = self.place(&fd, PathFlags::empty(), &path).await?;
        let mut outcome = self.permit_at(Operation::CreateDirectory, &place, &path).await;
        if outcome.is_ok() {
            outcome = self.inner.create_directory_at(place.directory(), place.entry()).await;
        }
        self.leave(place)?;
        outcome
    }

    async fn remove_directory_at(&mut self, fd: Resource<Descriptor>, path: String) -> FsResult<()> {
        let place = self.place(&fd, PathFlags::empty(), &path).await?;
        let mut outcome = self.permit_at(Operation::RemoveDirectory, &place, &path).await;
        if outcome.is_ok() {
            outcome = self.inner.remove_directory_at(place.directory(), place.entry()).await;
        }
        self.leave(place)?;
        outcome
    }

    async fn unlink_file_at(&mut self, fd: Resource<Descriptor>, path: String) -> FsResult<()> {
        let place = self.place(&fd, PathFlags::empty(), &path).await?;
        let mut outcome = self.permit_at(Operation::Unlink, &place, &path).await;
        if outcome.is_ok() {
            outcome = self.inner.unlink_file_at(place.directory(), place.entry()).await;
        }
        self.leave(place)?;
        outcome
    }

    async fn symlink_at(&mut self, fd: Resource<Descriptor>, target: String, path: String) -> FsResult<()> {
        let place = self.place(&fd, PathFlags::empty(), &path).await?;
        let mut outcome = self.permit_at(Operation::Symlink, &place, &path).await;
        if outcome.is_ok() {
            outcome = self.inner.symlink_at(place.directory(), target, place.entry()).await;
        }
        self.leave(place)?;
        outcome
    }

    async fn rename_at(
        &mut self,
        fd: Resource<Descriptor>,
        old_path: String,
        new_fd: Resource<Descriptor>,
        new_path: String,
    ) -> FsResult<()> {
        let old = self.place(&fd, PathFlags::empty(), &old_path).await?;
        let new = match self.place(&new_fd, PathFlags::empty(), &new_path).await {
            Ok(new) => new,
            Err(error) => {
                self.leave(old)?;
                return Err(error);
            }
        };
        let mut outcome = self.permit_at(Operation::Rename, &old, &old_path).await;
        if outcome.is_ok() {
            outcome = self.permit_at(Operation::Rename, &new, &new_path).await;
        }
        if outcome.is_ok() {
            outcome = self.inner.rename_at(old.directory(), old.entry(), new.directory(), new.entry()).await;
        }
        self.leave(old)?;
        self.leave(new)?;
        outcome
    }

    async fn link_at(
        &mut self,
        fd: Resource<Descriptor>,
        flags: PathFlags,
        old_path: String,
        new_fd: Resource<Descriptor>,
        new_path: String,
    ) -> FsResult<()> {
        let old = self.place(&fd, PathFlags::empty(), &old_path).await?;
        let new = match self.place(&new_fd, PathFlags::empty(), &new_path).await {
            Ok(new) => new,
            Err(error) => {
                self.leave(old)?;
                return Err(error);
            }
        };
        let mut outcome = self.permit_at(Operation::Link, &old, &old_path).await;
        if outcome.is_ok() {
            outcome = self.permit_at(Operation::Link, &new, &new_path).await;
        }
        if outcome.is_ok() {
            outcome = self.inner.link_at(old.directory(), flags, old.entry(), new.directory(), new.entry()).await;
        }
        self.leave(old)?;
        self.leave(new)?;
        outcome
    }

    // A descriptor that was opened for writing was judged then. One that was not cannot be written or resized:
    // the host refuses.

    async fn set_size(&mut self, fd: Resource<Descriptor>, size: Filesize) -> FsResult<()> {
        self.inner.set_size(fd, size).await
    }

    async fn write(&mut self, fd: Resource<Descriptor>, bytes: Vec<u8>, offset: Filesize) -> FsResult<Filesize> {
        self.inner.write(fd, bytes, offset).await
    }

    fn write_via_stream(&mut self, fd: Resource<Descriptor>, offset: Filesize) -> FsResult<Resource<DynOutputStream>> {
        self.inner.write_via_stream(fd, offset)
    }

    fn append_via_stream(&mut self, fd: Resource<Descriptor>) -> FsResult<Resource<DynOutputStream>> {
        self.inner.append_via_stream(fd)
    }

    // Nothing below changes anything.

    fn read_via_stream(&mut self, fd: Resource<Descriptor>, offset: Filesize) -> FsResult<Resource<DynInputStream>> {
        self.inner.read_via_stream(fd, offset)
    }

    async fn advise(
        &mut self,
        fd: Resource<Descriptor>,
        offset: Filesize,
        length: Filesize,
        advice: Advice,
    ) -> FsResult<()> {
        self.inner.advise(fd, offset, length, advice).await
    }

    async fn sync_data(&mut self, fd: Resource<Descriptor>) -> FsResult<()> {
        self.inner.sync_data(fd).await
    }

    async fn sync(&mut self, fd: Resource<Descriptor>) -> FsResult<()> {
        self.inner.sync(fd).await
    }

    async fn get_flags(&mut self, fd: Resource<Descriptor>) -> FsResult<DescriptorFlags> {
        self.inner.get_flags(fd).await
    }

    async fn get_type(&mut self, fd: Resource<Descriptor>) -> FsResult<DescriptorType> {
        self.inner.get_type(fd).await
    }

    async fn read(
        &mut self,
        fd: Resource<Descriptor>,
        length: Filesize,
        offset: Filesize,
    ) -> FsResult<(Vec<u8>, bool)> {
        self.inner.read(fd, length, offset).await
    }

    async fn read_directory(&mut self, fd: Resource<Descriptor>) -> FsResult<Resource<DirectoryEntryStream>> {
        self.inner.read_directory(fd).await
    }

    async fn stat(&mut self, fd: Resource<Descriptor>) -> FsResult<DescriptorStat> {
        self.inner.stat(fd).await
    }

    async fn stat_at(&mut self, fd: Resource<Descriptor>, flags: PathFlags, path: String) -> FsResult<DescriptorStat> {
        self.inner.stat_at(fd, flags, path).await
    }

    async fn readlink_at(&mut self, fd: Resource<Descriptor>, path: String) -> FsResult<String> {
        self.inner.readlink_at(fd, path).await
    }

    async fn is_same_object(&mut self, a: Resource<Descriptor>, b: Resource<Descriptor>) -> wasmtime::Result<bool> {
        self.inner.is_same_object(a, b).await
    }

    async fn metadata_hash(&mut self, fd: Resource<Descriptor>) -> FsResult<MetadataHashValue> {
        self.inner.metadata_hash(fd).await
    }

    async fn metadata_hash_at(
        &mut self,
        fd: Resource<Descriptor>,
        flags: PathFlags,
        path: String,
    ) -> FsResult<MetadataHashValue> {
        self.inner.metadata_hash_at(fd, flags, path).await
    }

    fn drop(&mut self, fd: Resource<Descriptor>) -> wasmtime::Result<()> {
        HostDescriptor::drop(&mut self.inner, fd)
    }
}

impl HostDirectoryEntryStream for Filesystem<'_> {
    async fn read_directory_entry(
        &mut self,
        stream: Resource<DirectoryEntryStream>,
    ) -> FsResult<Option<DirectoryEntry>> {
        self.inner.read_directory_entry(stream).await
    }

    fn drop(&mut self, stream: Resource<types::DirectoryEntryStream>) -> wasmtime::Result<()> {
        HostDirectoryEntryStream::drop(&mut self.inner, stream)
    }
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn a_path_is_split_at_its_last_name() {
        assert_eq!(split("a"), Some(("./", "a", false)));
        assert_eq!(split("a/b"), Some(("a/", "b", false)));
        assert_eq!(split("a/../b"), Some(("a/../", "b", false)));
        assert_eq!(split("a//b//"), Some(("a//", "b", true)));
        assert_eq!(split("/a"), Some(("/", "a", false)));
    }

    #[test]
    fn a_path_without_a_last_name_is_not_split() {
        for path in ["", ".", "..", "/", "a/.", "a/..", "a/./", "../.."] {
            assert_eq!(split(path), None, "{path}");
        }
    }
}
